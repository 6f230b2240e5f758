package engine

import "time"

// Local is what this client knows of one of its holds or waiters, without asking the store.
type Local struct {
	Name, Mode string
	ID         string
	Fence      int64     // of a hold
	Since      time.Time // when a hold was granted or passed on here, or a waiter began to wait
	ValidUntil time.Time // of a hold
}

// Locals lists the holds and the waiters of this client. It goes over the table key by key, so it is no picture of
// one instant. Of several Holds on one grant it tells one.
func (e *Engine) Locals() (holds, waiters []Local) {
	e.table.each(func(k *Key) {
		for g := range k.grantsLocked() {
			h := g.CurrentLocked()
			if h == nil {
				continue
			}
			holds = append(holds, Local{
				Name: g.proto.Name(), Mode: g.proto.Mode(), ID: g.id, Fence: h.Fence,
				Since: e.clock.Wall(h.Start()), ValidUntil: e.clock.Wall(g.Lease.ValidUntil()),
			})
		}
		for w := range k.waitersLocked() {
			of := waiterOf(w)
			waiters = append(waiters, Local{
				Name: of.req.Proto.Name(), Mode: of.req.Proto.Mode(), ID: w.ID, Since: e.clock.Wall(w.Since),
			})
		}
	})
	return holds, waiters
}
