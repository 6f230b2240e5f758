package engine

// offer picks the waiter that h is to be handed to: the first in line, if nothing but h is in its way
// and the run of hand-offs may go on. runOver reports that only the run was in the way.
func (t *table) offer(h *Hold) (w *waiter, runOver bool) {
	key := h.proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	w = r.first()
	if w == nil || w.gang != nil || w.place != queued || !w.req.Proto.Inherits(h.proto.Mode()) || !r.free(w, h) {
		return nil, false
	}
	if r.line.over(t.engine.clock.Now()) {
		return nil, true
	}
	w.place = offered
	return w, false
}

// grant settles a hand-off that Redis carried out. It reports false if the target left meanwhile: the
// hold is listed all the same, and the caller passes it on.
func (t *table) grant(from *Hold, w *waiter, h *Hold) bool {
	defer h.delist() // when the part is unlocked
	key := h.proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.forget(from)
	r.keep(h)
	if w.place == deserted {
		return false
	}
	if r.line.turns+r.line.passed == 0 {
		r.line.since = t.engine.clock.Now()
	}
	if h.number == from.number {
		r.line.passed++
	} else {
		r.line.turns++
	}
	r.remove(w)
	w.place, w.hold = granted, h
	w.tell()
	return true
}

// recall takes an offer back: the target stands in line as before. A new id is given to it if a late
// copy of the hand-off may still be carried out under the old one.
func (t *table) recall(w *waiter, id string) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	w.id = id
	if w.place == offered {
		w.place = queued
	}
}

// reject ends the wait of a hand-off's target with an error.
func (t *table) reject(w *waiter, err error) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place == offered {
		w.place, w.failed = leading, err
		w.tell()
	}
}
