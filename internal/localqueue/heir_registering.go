package localqueue

import "time"

// A hold may end while the next waiter is being registered in the store's queue. Releasing it then costs a round trip,
// and the next waiter's request another one, but the answer to the registration is less than one away. So the unlock
// may wait for that answer, and pass the hold on if this waiter is the store's next as well.

// unlockWait is how long a hold is kept at least for the answer to a registration; it may take two round trips. A
// release and the next waiter's request would take as long.
const unlockWait = time.Millisecond

// HeirRegistering returns the first in the queue if a hold of the given mode may pass to it once its registration is
// answered; nil if not. The channel is closed when the registration was answered or the waiter has left. The unlock
// waits for that no longer than most.
func (q *Queue) HeirRegistering(
	mode string, now time.Duration,
) (w *Waiter, answered <-chan struct{}, most time.Duration) {
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
	return w, q.answered, q.UnlockWait()
}

// UnlockWait is how long an unlock waits for an answer that is nearer than one to a release.
func (q *Queue) UnlockWait() time.Duration { return max(unlockWait, 2*min(q.run.trip, longTrip)) }

// registers reports that w is being registered or is about to be, and that no earlier try of that may still give it a
// place.
func (q *Queue) registers(w *Waiter) bool {
	if w.late != 0 || w.ticket != 0 && !w.registering {
		return false
	}
	return q.registrar || !w.announced
}

// changed wakes the unlocks that wait for the answer to a registration.
func (q *Queue) changed() {
	if q.answered != nil {
		close(q.answered)
		q.answered = nil
	}
}
