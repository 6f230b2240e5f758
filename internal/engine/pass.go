package engine

import "time"

// successor is h's next turn, for a request that would be granted the same by Redis. The hold that Redis knows stays
// what it is, id and lease, and goes from one caller to the next by memory alone: with a context of its own, and with
// the next of the fencing tokens that the acquisition reserved. The context of the turn before has ended by then, so
// that no two contexts say that it is held. It is nil if no token is left, of those that have any, or if Redis has
// to be asked (see hold.PassTo): then h is to be released.
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
	next.expectLongTurn()
	h.doubt = 0 // the last turn has what is left of it released
	return next
}

// lend sets spare tokens apart. A hold that Redis just granted to w has the newest token; where others of this
// process wait behind w, it takes the lowest of the spare ones instead, and the rest are for them. Trip is how
// long the request took.
func (h *Hold) lend(w *waiter, spare int64, trip time.Duration) {
	if h.engine.table.tookTrip(w, trip) && w.req.Proto.Traits().Passes {
		h.fence, h.spare = h.fence-spare, int16(spare)
	}
}

// unpassed releases h, which cannot be passed on to w now and is of a kind that no script hands on. Nothing was sent
// for w, which asks for itself. What ends here is a run if h had been passed on.
func (e *Engine) unpassed(h *Hold, w *waiter, end time.Duration) error {
	e.table.recall(w, w.ID)
	return e.releaseIn(h, end, e.table.passed(h), true)
}

// passed reports whether h's key was passed on since it was last taken through Redis.
func (t *table) passed(h *Hold) bool {
	p, q := t.queue(h.proto.Key())
	defer p.mu.Unlock()
	return q.Passed()
}
