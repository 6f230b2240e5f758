package engine

import "iter"

// crowd is the holds of a name of which several are held at once: thousands, where they are permits or
// readers. What is asked of it all the time is of which modes they are.
type crowd struct {
	holds map[holdNumber]*Hold
	modes modes
}

// modes counts things by their mode. There are hardly ever more than two.
type modes []modeCount

type modeCount struct {
	mode string
	n    int
}

func (m *modes) add(mode string, n int) {
	for i := range *m {
		if at := &(*m)[i]; at.mode == mode {
			at.n += n
			return
		}
	}
	*m = append(*m, modeCount{mode, n})
}

// any reports whether f is true of a mode of which there is something besides one of except's.
func (m modes) any(except string, excepted bool, f func(mode string) bool) bool {
	for _, at := range m {
		n := at.n
		if excepted && at.mode == except {
			n--
		}
		if n > 0 && f(at.mode) {
			return true
		}
	}
	return false
}

// excluded reports whether a hold, besides except, is in p's way.
func (r *row) excluded(p Protocol, except *Hold) bool {
	if h := r.hold; h != nil && h != except && p.Excludes(h.proto.Mode()) {
		return true
	}
	if r.more == nil {
		return false
	}
	excepted := except != nil && r.more.holds[except.number] == except
	mode := ""
	if excepted {
		mode = except.proto.Mode()
	}
	return r.more.modes.any(mode, excepted, p.Excludes)
}

// holds are the live local holds.
func (r *row) holds() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		if r.hold == nil || !yield(r.hold) || r.more == nil {
			return
		}
		for _, h := range r.more.holds {
			if !yield(h) {
				return
			}
		}
	}
}

// find finds a hold by its number; nil if it is not there.
func (r *row) find(n holdNumber) *Hold {
	switch {
	case r.hold != nil && r.hold.number == n:
		return r.hold
	case r.more != nil:
		return r.more.holds[n]
	}
	return nil
}

// keep lists a hold.
func (r *row) keep(h *Hold) {
	if r.hold == nil {
		r.hold = h
		return
	}
	if r.more == nil {
		r.more = &crowd{holds: make(map[holdNumber]*Hold)}
	}
	r.more.holds[h.number] = h
	r.more.modes.add(h.proto.Mode(), 1)
}

// forget takes a hold out of the row, if it is there.
func (r *row) forget(h *Hold) {
	if r.hold == h {
		r.hold = nil
	} else if r.more != nil && r.more.holds[h.number] == h {
		r.more.remove(h)
	}
	if r.more == nil {
		return
	}
	if r.hold == nil {
		for _, next := range r.more.holds {
			r.hold = next
			r.more.remove(next)
			break
		}
	}
	if len(r.more.holds) == 0 {
		r.more = nil
	}
}

func (c *crowd) remove(h *Hold) {
	delete(c.holds, h.number)
	c.modes.add(h.proto.Mode(), -1)
}
