package localqueue

import "time"

// Heir is the first in the queue, if a hold of the given mode can become its, now; nil otherwise.
func (q *Queue) Heir(mode string) *Waiter {
	w := q.first
	if w == nil || w.Set || w.state != Waiting || !w.Kind.Inherits(mode) || !q.inTurn(w) {
		return nil
	}
	return w
}

// Offer picks the waiter that a hold of the given mode is to be handed to, which is one of those that are counted:
// the heir, if no other hold is in its way and the run may go on. RunOver reports that only the run
// was in the way.
func (q *Queue) Offer(mode string, now time.Duration) (w *Waiter, runOver bool) {
	w = q.Heir(mode)
	if w == nil || q.holds.anyBesides(mode, w.Kind.Excludes) || q.dated(w, now) {
		return nil, false
	}
	if q.run.over(now, q.debt.others) {
		return nil, true
	}
	w.state = Offered
	return w, false
}

// Grant settles a hand-off that was carried out, in memory if it passed, by a script if not. The caller has taken
// the old hold off the count, and counted the new one. It reports false if the target left meanwhile: the new hold
// is the caller's, to be passed on again.
func (q *Queue) Grant(w *Waiter, passed bool, now time.Duration) bool {
	if w.state == Deserted {
		return false
	}
	q.run.count(passed, now)
	q.remove(w)
	w.state = Granted
	w.tell()
	return true
}

// Recall takes an offer back: the target waits as before. A new id is given to it if a late copy of the hand-off
// may still be carried out under the old one, which is the caller's to clean up then.
func (q *Queue) Recall(w *Waiter, id string) {
	if id != w.ID {
		w.Rename(id)
	} else {
		w.sent = true // by whoever handed on
	}
	if w.state == Offered {
		w.state = w.before
		w.tell()
	}
}

// Reject ends the wait of a hand-off's target with an error. What may stand in Redis for its id is the caller's to
// clean up.
func (q *Queue) Reject(w *Waiter, err error) {
	if w.state == Offered {
		w.state, w.failed = Asking, err
		w.tell()
	}
}

// Share ends the wait of all that only wanted the answer which Redis gave to a request sent at an instant: those
// that were waiting by then. They are passed to each.
func (q *Queue) Share(asked time.Duration, each func(*Waiter)) {
	for w := q.first; w != nil; {
		next := w.next
		if w.state == Waiting && w.Shared && w.Since <= asked {
			q.remove(w)
			w.state = Granted
			each(w)
			w.tell()
		}
		w = next
	}
	q.promote()
}
