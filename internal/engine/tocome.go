package engine

import "time"

// passSoon is table.pass. If the first in the queue is only now being registered in the store's, it waits for the
// answer, which is nearer than the one to a release would be. While it waits no context says that the hold is held:
// its last holder is done with it, and the next has not got it yet. Whatever becomes of the hold meanwhile, and
// whatever the answer says, is looked at afterwards, as if the hold ended only then. A registration that is lost or
// late is waited for as long as toCome says, a process that stopped meanwhile finds the lease too short to pass,
// and Close ends the wait.
func (e *Engine) passSoon(h *Hold, end time.Duration) (next *Hold, runOver bool) {
	var late <-chan time.Time
	for {
		next, runOver = e.table.pass(h)
		if next != nil || runOver || !h.proto.Traits().Queues {
			return next, runOver
		}
		// The channel is taken under the mutex under which the registration ends: an answer that came between
		// table.pass and here has made another one first, or none is to come, and one that comes later closes it.
		to, answered, most := e.table.toCome(h)
		if to == nil || h.spare == 0 || !h.Passes(to.req.want()) {
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

// toCome is the waiter that h may pass to when its registration is answered; nil if there is none. See package
// localqueue.
func (t *table) toCome(h *Hold) (w *waiter, answered <-chan struct{}, most time.Duration) {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	if s == nil || s.queue == nil || h.suspect || !s.lists(h) {
		return nil, nil, 0
	}
	to, answered, most := s.queue.ToCome(h.proto.Mode(), t.engine.clock.Now())
	return waiterOf(to), answered, most
}
