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

// Locals lists the holds and the waiters of this client. It goes over the table part by part, so it is no picture of
// one instant. Of several Holds on one grant it tells one.
func (e *Engine) Locals() (holds, waiters []Local) {
	for i := range e.table.parts {
		p := &e.table.parts[i]
		p.mu.Lock()
		for _, s := range p.keys {
			for g := range s.grants() {
				h := g.Current()
				if h == nil {
					continue
				}
				holds = append(holds, Local{
					Name: g.proto.Name(), Mode: g.proto.Mode(), ID: g.id, Fence: h.Fence,
					Since: e.clock.Wall(h.Start()), ValidUntil: e.clock.Wall(g.Lease.ValidUntil()),
				})
			}
			for w := range s.waiters() {
				of := waiterOf(w)
				waiters = append(waiters, Local{
					Name: of.req.Proto.Name(), Mode: of.req.Proto.Mode(), ID: w.ID, Since: e.clock.Wall(w.Since),
				})
			}
		}
		p.mu.Unlock()
	}
	return holds, waiters
}
