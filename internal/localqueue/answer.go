package localqueue

import "time"

// Busy notes that the store answered w that another has the lock. It reports whether that is, or may be, a hold of this
// process, behind which w asks because of what that leaves in the store. Then w is signaled when such a hold is
// released.
func (q *Queue) Busy(w *Waiter) (behind bool) {
	q.refuse(w)
	q.series = series{} // others have their turn
	behind = !w.Several && q.holds.any(w.Kind.Follows)
	if behind && w.changed == nil {
		w.changed = make(chan struct{}, 1)
	}
	return behind
}

// refuse notes that w was told to wait. One of several that may ask at a time is in the way of those behind it from
// then on.
func (q *Queue) refuse(w *Waiter) {
	if w.listed() && !w.blocks() {
		q.blocking++
	}
	w.refused = true
}

// RefuseFirst notes that the first in the queue was refused by a hold of the given mode, whose release the store has
// just confirmed: a try that comes before it has asked must not overtake it.
func (q *Queue) RefuseFirst(mode string) {
	if w := q.first; w != nil && w.Kind.Excludes(mode) {
		q.refuse(w)
	}
}

// StepBack is for one of several that may ask at a time, when the store refused it: of those that asked at the same
// time and were all refused, the first goes on asking. It reports whether that is another than w, which then is
// waiting again. Otherwise those behind w step back; they find that out before they ask again.
//
// A waiter with a place in the store's queue steps back behind a hold of its own process, until its next Poll.
func (q *Queue) StepBack(w *Waiter) (behind bool) {
	if w.state != Asking {
		return false
	}
	q.refuse(w)
	if w.Registers() {
		if behind = q.Excluded(w.Kind); behind {
			w.wait(Waiting)
		}
		return behind
	}
	for other := q.first; other != w; other = other.next {
		if other.refused && w.Kind.Follows(other.Kind.Mode()) {
			w.wait(Waiting)
			return true
		}
	}
	for other := w.next; other != nil; other = other.next {
		if other.Several && other.refused && other.state == Asking && other.Kind.Follows(w.Kind.Mode()) {
			other.wait(Waiting) // a second one, too, if the first was refused and is about to come here
		}
	}
	return false
}

// Behind reports whether w, which was asking, is waiting again.
func (w *Waiter) Behind() bool { return w.state == Waiting }

// AnswerAll ends the wait of all that only wanted the answer which the store gave to a request sent at an instant:
// those that were waiting by then. They are passed to each.
func (q *Queue) AnswerAll(asked time.Duration, each func(*Waiter)) {
	for w := q.first; w != nil; {
		next := w.next
		if w.state == Waiting && w.Manner == Looks && w.Since <= asked {
			q.remove(w, Granted)
			each(w)
			w.signal()
		}
		w = next
	}
	q.promote()
}
