package engine

import "time"

// passOn gives a hold that its owner is done with to the next waiter of this process, or releases it in Redis.
//
// A turn that costs no request. The hold that Redis knows stays what it is, id and lease, and goes from one
// caller to the next by memory alone: with a context of its own, and with the next of the fencing tokens that
// the acquisition reserved. The context of the turn before has ended by then, so that no two contexts say that it is
// held.
func (e *Engine) passOn(h *Hold, end time.Duration) error {
	if e.sender.Closed() {
		return e.releaseIn(h, end, false, true)
	}
	next, runOver := e.table.pass(h)
	if next == nil {
		return e.releaseIn(h, end, runOver, true)
	}
	if e.sender.Closed() {
		next.orphan() // Close may have looked for holds before this one was listed
	}
	return nil
}

// pass makes h the hold of the waiter that is next, if that one can have it as it is. Who that is, whether it can, and
// that it has it are one step under the table's mutex: the waiter leaves before, and another one is next, or it
// leaves after, with a hold that it lets go. RunOver reports that other processes have their turn first: the run has
// been long enough, memory is not enough, or nobody of this process waits for what others cannot have meanwhile.
func (t *table) pass(h *Hold) (next *Hold, runOver bool) {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	if s == nil || h.suspect || !s.lists(h) {
		return nil, false
	}
	if s.queue == nil || s.queue.Empty() {
		return nil, h.portion != nil || h.proto.Excludes(h.proto.Mode())
	}
	now := t.engine.clock.Now()
	to, runOver := s.queue.Next(h.proto.Mode(), h.portion, now)
	if to == nil {
		return nil, runOver
	}
	w := waiterOf(to)
	if next = h.successor(h.turnOf(w)); next == nil {
		return nil, h.portion == nil
	}
	s.unlist(h)
	p.list(s, next)
	s.queue.Grant(to, h.portion, now)
	w.hold = next
	return next, false
}

// successor is h's next turn, for a request that Redis would grant the same. It is nil if no token is left, of those
// that have any, or if Redis has to be asked (see hold.PassTo). The table's mutex is held, and PassTo takes h's: h and
// its successor change places in one step.
func (h *Hold) successor(req Request) *Hold {
	if !req.Proto.Traits().Passes || h.spare == 0 && h.portion == nil {
		return nil
	}
	next := &Hold{
		engine: h.engine, proto: req.Proto, number: h.number, fence: h.fence + 1, spare: h.spare - 1,
		doubt: h.doubt,
	}
	next.Lease.Owner = next
	if !h.PassTo(&next.Hold, req.want()) {
		return nil
	}
	if next.portion = h.portion; next.portion != nil {
		next.fence, next.spare = h.fence, 0
	}
	if h.proto.Served() == "" && next.proto.Served() != "" {
		next.watchTurns()
	}
	h.doubt = 0 // the last turn has what is left of it released
	return next
}

// hasHeir reports that a waiter of this process could be given h.
func (t *table) hasHeir(h *Hold) bool {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	return s != nil && s.queue != nil && s.queue.Heir(h.proto.Mode()) != nil
}

// lend sets spare tokens apart. A hold that Redis just granted has the newest token; where others of this process wait
// behind its waiter, or may soon, it takes the lowest of the spare ones instead, and the rest are for them.
func (h *Hold) lend(spare int64) {
	h.fence, h.spare = h.fence-spare, int16(spare)
}
