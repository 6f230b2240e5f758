package localqueue

import "time"

// Heir is the first in the queue, if a hold of the given mode can become its, now; nil otherwise.
func (q *Queue) Heir(mode string) *Waiter {
	w := q.first
	if w == nil || w.Manner == Set || w.state != Waiting || !w.Kind.Inherits(mode) || !q.inTurn(w) {
		return nil
	}
	return w
}

// Next is the waiter that a hold of the given mode passes to, which is one of those that are counted: the heir, if no
// other hold is in its way and the run may go on. RunOver reports that only the run was in the way. P is the portion
// that the hold is, if it is one. The hold passes by Grant, before the caller's mutex is unlocked.
func (q *Queue) Next(mode string, p *Portion, now time.Duration) (w *Waiter, runOver bool) {
	r := &q.run
	if p != nil {
		w, r = q.heirOf(mode, p), &p.run
		r.trip = q.run.trip
	} else if w = q.Heir(mode); w != nil && (q.holds.anyBesides(mode, w.Kind.Excludes) || q.dated(w, now)) {
		return nil, false
	}
	if w != nil && r.over(now, q.debt.others) {
		return nil, true
	}
	return w, false
}

// Grant passes a hold, which is the portion p if it is one, to the waiter that is next. The caller has taken the old
// hold off the count, and counted the new one.
func (q *Queue) Grant(w *Waiter, p *Portion, now time.Duration) {
	r := &q.run
	if p != nil {
		r = &p.run
	}
	r.count(now)
	q.remove(w, Granted)
	w.signal()
	q.promote()
}
