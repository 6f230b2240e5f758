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
