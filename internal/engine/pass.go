package engine

import "time"

// A turn that costs no request. The hold that Redis knows stays what it is, id and lease, and goes from one
// caller to the next by memory alone: with a context of its own, and with the next of the fencing tokens that
// the acquisition reserved. The context of the turn before has ended by then, so no two holders believe in it; and
// the watchdog goes on from the validity that Redis last confirmed, which passing on does not raise.

// successor is h's next turn, for a request that would be granted the same by Redis. It is nil if h has to be
// handed on by a script, or released:
//
//   - there is no token left, of those that have any;
//   - the lease is half over, or its last renewal failed: Redis is to be asked whether it stands;
//   - the next one wants another lease, or one of its own that nobody renews;
//   - a step of h's levels is under way or may still be: it would write the count of the next, or its TTL;
//   - another side was asked for inside h: what came of that would be inside the next turn, in whose way it is;
//   - h was limited: the release is what tells that the limit was kept.
func (h *Hold) successor(req Request) *Hold {
	e := h.engine
	now, until := e.clock.Now(), h.lease.ValidUntil()
	h.mu.Lock()
	defer h.mu.Unlock()
	healthy := until-now > req.Lease/2 && !h.lease.Failing()
	same := req.Kept && req.Lease == h.asked
	alone := h.settledLocked() && !h.inner && h.limit == nil
	if !req.Proto.Traits().Passes || h.spare == 0 && h.portion == nil || !healthy || !same || !alone {
		return nil
	}
	next := &Hold{
		engine: e, proto: req.Proto, number: h.number, fence: h.fence + 1, spare: h.spare - 1,
		start: now, doubt: h.doubt, asked: req.Lease,
	}
	h.steps.inherit(next)
	next.expectLongTurn()
	if next.portion = h.portion; next.portion != nil {
		next.fence, next.spare = h.fence, 0
	}
	h.doubt = 0 // the last turn has what is left of it released
	next.lease.Owner = next
	e.watchdog.Keep(&next.lease, until-validUntil(0, req.Lease), req.Lease)
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
