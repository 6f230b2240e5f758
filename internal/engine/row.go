package engine

import (
	"iter"
	"slices"
	"time"
)

// The methods below need the lock of the part that the row is in.

// free reports whether w may ask Redis: no local hold but except is in its way, and nobody in line
// before it goes first.
func (r *row) free(w *waiter, except *Hold) bool {
	for h := range r.holds() {
		if h != except && w.req.Proto.Excludes(h.proto.Mode()) {
			return false
		}
	}
	for other := r.first(); other != nil && other != w; other = other.next {
		if w.req.Proto.Follows(other.req.Proto.Mode()) {
			return false
		}
	}
	return true
}

// promote makes leaders of those at the front of the line whom nothing local stops. It ends at the
// first who has to wait: nobody overtakes. For an exclusive lock that is the first in line or nobody;
// readers lead together.
func (r *row) promote() {
	for w := r.first(); w != nil; w = w.next {
		if w.place == offered || !r.free(w, nil) {
			return
		}
		if w.place == queued {
			w.place = leading
			w.tell()
		}
	}
}

// first is the first in line, nil if nobody waits.
func (r *row) first() *waiter {
	if r.line == nil {
		return nil
	}
	return r.line.first
}

// inLine is the line, which is made if there is none.
func (r *row) inLine() *line {
	if r.line == nil {
		r.line = &line{}
	}
	return r.line
}

// over reports that the run of hand-offs has been long enough. The first one is always granted: with
// long critical sections, every other turn is a real release.
func (l *line) over(now time.Duration) bool {
	return l.turns >= runCount || l.turns > 0 && now-l.since >= runTime
}

func (r *row) append(w *waiter) {
	at := r.inLine()
	w.prev, w.next = at.last, nil
	if at.last == nil {
		at.first = w
	} else {
		at.last.next = w
	}
	at.last = w
	w.listed = true
}

func (r *row) remove(w *waiter) {
	if !w.listed {
		return
	}
	w.listed = false
	if w.prev == nil {
		r.line.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		r.line.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

// holds are the live local holds, the eldest first.
func (r *row) holds() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		if r.hold == nil || !yield(r.hold) || r.more == nil {
			return
		}
		for _, h := range *r.more {
			if !yield(h) {
				return
			}
		}
	}
}

// keep lists a hold.
func (r *row) keep(h *Hold) {
	switch {
	case r.hold == nil:
		r.hold = h
	case r.more == nil:
		r.more = &[]*Hold{h}
	default:
		*r.more = append(*r.more, h)
	}
}

// forget takes a hold out of the row, if it is there.
func (r *row) forget(h *Hold) {
	if r.more == nil {
		if r.hold == h {
			r.hold = nil
		}
		return
	}
	if r.hold == h {
		r.hold = (*r.more)[0]
		h = r.hold
	}
	if i := slices.Index(*r.more, h); i >= 0 {
		*r.more = slices.Delete(*r.more, i, i+1)
	}
	if len(*r.more) == 0 {
		r.more = nil
	}
}
