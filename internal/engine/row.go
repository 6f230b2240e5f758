package engine

import "time"

// The methods below need the lock of the part that the row is in.

// free reports whether w may ask Redis: no local hold but except is in its way, and nobody in line
// before it goes first.
func (r *row) free(w *waiter, except *Hold) bool {
	if r.excluded(w.req.Proto, except) {
		return false
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
	var ahead modes
	for w := r.first(); w != nil; w = w.next {
		p := w.req.Proto
		if w.place == offered || r.excluded(p, nil) || ahead.any("", false, p.Follows) {
			return
		}
		if w.place == queued {
			w.place = leading
			w.tell()
		}
		if w.next != nil {
			ahead.add(p.Mode(), 1)
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

// over reports that the run of hand-offs has been long enough. The first one is always granted: with
// long critical sections, every other turn is a real release.
func (l *line) over(now time.Duration) bool {
	return l.turns >= runCount || l.turns > 0 && now-l.since >= runTime
}

func (at *line) append(w *waiter) {
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
