package hold

// KeepUntil has whoever releases the hold keep the lock until a server time in µs; with several the latest counts. A
// level's limit stays when that level is unlocked.
//
// A hold may have to be kept in Redis for some time after it was acquired, though its owner is done with it earlier
// (MinHold). What is kept is the lock and not the hold: no context says that it is held, and nobody of this process
// inherits it. So all that the hold has of it is the instant, for whoever releases it.
func (h *Hold) KeepUntil(server int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.limitOf(nil)
	if *at == nil {
		*at = newLimit(h, nil)
	}
	(*at).least = max((*at).least, server)
}

// KeptUntil is until when whoever releases the hold keeps the lock, in server time in µs; 0: it is free then.
func (h *Hold) KeptUntil() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit == nil {
		return 0
	}
	return h.limit.least
}
