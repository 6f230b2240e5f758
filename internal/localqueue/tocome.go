package localqueue

import "time"

// A hold may end when the next waiter is being registered in the store's queue. To release it then costs a round trip,
// and the next one another to ask, where the answer that is missing is less than one away. So whoever ends it may wait
// for that answer, and pass the hold on if it says that this waiter is the store's next as well.

// unlockWait is how long a hold is kept at least for the answer to a registration; it may take two round trips.
const unlockWait = time.Millisecond

// ToCome reports whether a hold of the given mode, for which there is no heir, may become that of the first in the
// queue when its registration is answered. Then answered is closed when there is news of it, which may be that it left;
// and that is waited for as long as is returned, at most.
func (q *Queue) ToCome(mode string, now time.Duration) (w *Waiter, answered <-chan struct{}, most time.Duration) {
	w = q.first
	if w == nil || w.Set || !w.Registers || w.state != Waiting || !w.Kind.Inherits(mode) || !q.registers(w) {
		return nil, nil, 0
	}
	if q.holds.anyBesides(mode, w.Kind.Excludes) || q.run.over(now, q.debt.others) {
		return nil, nil, 0
	}
	if q.answered == nil {
		q.answered = make(chan struct{})
	}
	return w, q.answered, max(unlockWait, min(2*q.run.trip, runTime))
}

// registers reports that w is being registered or is about to be, and that no earlier try of that may still give it a
// place.
func (q *Queue) registers(w *Waiter) bool {
	if w.late != 0 || w.ticket != 0 && !w.registering {
		return false
	}
	return q.registrar || !w.announced
}

// news tells those that wait for the answer to a registration that there may be one.
func (q *Queue) news() {
	if q.answered != nil {
		close(q.answered)
		q.answered = nil
	}
}
