package engine

// outer is a hold that another side of its lock is asked for inside. The zero outer is none.
type outer struct {
	id    string
	fence int64
}

// harbour has a hold be one that another side of its lock is asked for inside. A
// request that names it may be carried out for as long as its copies are about, and what it takes stands beside
// the hold: from now on h is not passed on in memory, where its id would be somebody else's turn. Whether it
// was unlocked before is decided under the mutex under which its successor is made.
func (h *Hold) harbour() (outer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return outer{}, &callError{kind: h.engine.cfg.Errors.NotHeld, name: h.proto.Name()}
	}
	h.inner = true
	return outer{h.id(), h.fence}, nil
}

// within gives a hold that was taken inside another one that one's token, though it may be over by now. What Redis told
// is the end of the range that the outer one reserved, of which it may have a lower number.
func (h *Hold) within(o outer) {
	if o.id != "" {
		h.fence = o.fence
	}
}
