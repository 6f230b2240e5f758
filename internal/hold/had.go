package hold

// IsHad reports that the hold is live and some caller has it: a Lock has returned, or is about to, with a level of it.
// What ends from then on is told to that caller by its context.
func (h *Hold) IsHad() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return false
	}
	for l := h.top; l != nil; l = l.below {
		if l.open && !l.pending {
			return true
		}
	}
	return false
}
