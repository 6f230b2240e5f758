package localqueue

// A Kind says what one mode of a lock excludes, follows and inherits. Modes tell the sides of one key apart,
// readers from writers for instance.
type Kind interface {
	Mode() string
	// Excludes reports that, while a local hold of the given mode lives, asking the store is pointless.
	Excludes(held string) bool
	// Follows reports that a local waiter of the given mode that came earlier goes first.
	Follows(ahead string) bool
	// Inherits reports that a hold of the given mode can be turned into one of this mode.
	Inherits(held string) bool
}

// modes counts things by their mode. Most keys have one mode, and hardly any more than two: the first needs no
// memory of its own.
type modes struct {
	first modeCount
	more  []modeCount
}

type modeCount struct {
	mode string
	n    int
}

func (m *modes) add(mode string, n int) {
	if m.first.n == 0 && m.more == nil {
		m.first.mode = mode
	}
	if m.first.mode == mode {
		m.first.n += n
		return
	}
	for i := range m.more {
		if m.more[i].mode == mode {
			m.more[i].n += n
			return
		}
	}
	m.more = append(m.more, modeCount{mode, n})
}

// any reports whether f is true of a mode of which there is something.
func (m *modes) any(f func(mode string) bool) bool {
	if m.first.n > 0 && f(m.first.mode) {
		return true
	}
	for _, at := range m.more {
		if at.n > 0 && f(at.mode) {
			return true
		}
	}
	return false
}

// anyBesides is any, with one of a mode left out.
func (m *modes) anyBesides(mode string, f func(mode string) bool) bool {
	m.add(mode, -1)
	defer m.add(mode, 1)
	return m.any(f)
}

func (m *modes) total() int {
	n := m.first.n
	for _, at := range m.more {
		n += at.n
	}
	return n
}
