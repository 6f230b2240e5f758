package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
)

// Stats is what an engine does at this moment.
type Stats struct {
	Holds         int
	Kept          int
	Waiters       int
	LeastValidity time.Duration
	RenewalsDue   int
	ReleasesOwed  int
	Coalesced     int64
}

// Stats looks at everything that the engine has, key by key: not all at one instant. A hold that is lost or passed on
// meanwhile may be counted or not.
func (e *Engine) Stats() Stats {
	s := Stats{
		Waiters: e.table.waiters(), ReleasesOwed: e.sender.Owed(),
		Coalesced: e.events.losses.count() + e.events.renewals.count() + e.events.commands.count() +
			e.events.lines.count(),
	}
	now := e.clock.Now()
	for _, g := range e.table.all() {
		if g.IsIdle() {
			s.Kept++
		}
		if !g.Stands() {
			continue
		}
		left := max(g.Lease.ValidUntil()-now, hold.Tick)
		if s.Holds == 0 || left < s.LeastValidity {
			s.LeastValidity = left
		}
		s.Holds++
		if e.watchdog.Renewing(&g.Lease) || g.Lease.Failing() {
			s.RenewalsDue++
		}
	}
	return s
}

// waiters is how many calls wait.
func (t *table) waiters() (n int) {
	t.each(func(k *Key) {
		for w := range k.waitersLocked() {
			if w.HasWaited() {
				n++
			}
		}
	})
	return n
}

// Local is what this client knows of one of its holds, idle grants or waiters, without asking the store.
type Local struct {
	Name, Mode string
	ID         string
	Fence      int64     // of a hold, or the last that a grant had
	Since      time.Time // when a hold was granted or passed on here, a grant became idle, or a waiter began to wait
	ValidUntil time.Time // of a hold, or of a grant
}

// Locals lists the holds, the idle grants and the waiters of this client. It goes over the table key by key, so it is
// no picture of one instant. Of several Holds on one grant it tells one.
func (e *Engine) Locals() (holds, idle, waiters []Local) {
	e.table.each(func(k *Key) {
		for g := range k.grantsLocked() {
			local := Local{
				Name: g.proto.Name(), Mode: g.proto.Mode(), ID: g.id, Fence: g.fence,
				ValidUntil: e.clock.Wall(g.Lease.ValidUntil()),
			}
			if h := g.CurrentLocked(); h != nil {
				local.Fence, local.Since = h.Fence, e.clock.Wall(h.Start())
				holds = append(holds, local)
			} else if g.IsIdleLocked() {
				local.Since = e.clock.Wall(g.kept.since)
				idle = append(idle, local)
			}
		}
		for w := range k.waitersLocked() {
			of := waiterOf(w)
			waiters = append(waiters, Local{
				Name: of.req.Proto.Name(), Mode: of.req.Proto.Mode(), ID: w.ID, Since: e.clock.Wall(w.Since),
			})
		}
	})
	return holds, idle, waiters
}
