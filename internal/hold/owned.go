package hold

// Owned reports that the hold is live and has an owner: a Lock has returned, or is about to, with a level of it. From
// then on the context of that level tells its caller of the hold's end.
func (h *Hold) Owned() bool {
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
