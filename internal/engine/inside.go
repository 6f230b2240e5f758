package engine

// harbour has a hold be one that another side of its lock is asked for inside, and returns its id for that. A
// request that names it may be carried out for as long as its copies are about, and what it takes stands beside
// the hold: from now on h is not passed on in memory, where its id would be somebody else's turn. Whether it
// was unlocked before is decided under the mutex under which its successor is made.
func (h *Hold) harbour() (id string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return "", &callError{kind: h.engine.cfg.Errors.NotHeld, name: h.proto.Name()}
	}
	h.inner = true
	return h.id(), nil
}

// within gives a hold that was taken inside another one that one's token. What Redis told is the end of the
// range that the outer one reserved, of which it may have a lower number.
func (h *Hold) within(outer string) {
	if outer == "" {
		return
	}
	if o := h.engine.table.find(h.proto.Key(), outer); o != nil {
		h.fence = o.fence
	}
}
