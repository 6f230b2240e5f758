package hold

// said is what a level says of its holder. Its number grows with each word that a level of its Hold says; 0: none.
type said struct {
	text string
	nth  int
}

// Say keeps what the level says of its holder from now on, for as long as it is open.
func (l *Level) Say(text string) {
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	last := l.hold.saidLocked(nil)
	if l.apart.Load() == nil {
		l.apart.Store(&apart{})
	}
	l.apart.Load().said = said{text, last.nth + 1}
}

// Said is what an open level of the Hold said last, and whether there is such a word. What one level says is left out:
// that is what counts without it.
func (h *Hold) Said(without *Level) (text string, spoken bool) {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	last := h.saidLocked(without)
	return last.text, last.nth > 0
}

func (h *Hold) saidLocked(without *Level) (last said) {
	for l := h.top; l != nil; l = l.below {
		if a := l.apart.Load(); a != nil && l != without && l.state == open && a.said.nth > last.nth {
			last = a.said
		}
	}
	return last
}
