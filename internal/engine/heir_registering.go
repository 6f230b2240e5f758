package engine

import "time"

// passSoon is table.pass, except that it waits for the answer to the registration of the first in the queue, if that is
// under way: that answer is nearer than one to a release. During the wait no context carries the hold: its last holder
// has ended it, and the next does not have it yet. Afterwards passSoon looks at the hold and the answer as if the hold
// had ended only then. The wait is bounded by heirRegistering where the registration is lost or late, and by Close. A
// process that was stopped in it finds the lease too short to pass.
func (e *Engine) passSoon(h *Hold, end, sure time.Duration) (next *Hold, runOver bool) {
	var late <-chan time.Time
	for {
		next, runOver = e.table.pass(h, sure)
		if next != nil || runOver || !h.proto.Traits().Queues {
			return next, runOver
		}
		// The channel is taken under the mutex under which the registration ends: an answer that came between
		// table.pass and here has made another one first, or none is to come, and one that comes later closes it.
		to, answered, most := e.table.heirRegistering(h)
		if to == nil || h.spare == 0 || !e.table.confirmed(h) || !h.Passes(to.req.want(), sure) {
			return nil, false
		}
		if late == nil {
			timer := time.NewTimer(min(most, end-e.clock.Now()))
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-answered:
		case <-late:
			return nil, false
		case <-e.sender.Closing():
			return nil, false
		}
	}
}

// For example, with a round trip of a millisecond: A unlocks when B's registration has been under way for 0.4 ms.
// The answer comes 0.6 ms later, says that nobody of another process stands before B, and B has the lock. Released,
// the lock would have come back to B after two round trips more: the release, and B's claim. If the answer says
// that somebody of another process stands first, the release that follows invites that one, 0.6 ms later than it
// could have.

// heirRegistering is the waiter that h may pass to when its registration is answered; nil if there is none. See package
// localqueue.
func (t *table) heirRegistering(h *Hold) (w *waiter, answered <-chan struct{}, most time.Duration) {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	if s == nil || s.queue == nil || h.suspect || !s.lists(h) {
		return nil, nil, 0
	}
	to, answered, most := s.queue.HeirRegistering(h.proto.Mode(), t.engine.clock.Now())
	return waiterOf(to), answered, most
}
