package localqueue

import (
	"iter"
	"time"
)

// Queue is what a process knows of one key without asking the store, but for the holds themselves: of those it counts
// the modes. The zero Queue is empty. Its methods, and those of its waiters, need the caller's mutex.
type Queue struct {
	holds       modes
	first, last *Waiter

	blocking int  // those in the queue that others stand behind
	calm     bool // nobody in the queue was waiting when that was looked at last

	awaited
	fairness
	watch watch // of portions
	line
	said    Said
	silence time.Duration // when the requests began to fail, while the last one did
}

// awaited is an answer of the store that several wait for.
type awaited struct {
	asker    *Waiter // whose answer it is, or is to be; nil: nobody's
	awaiting int     // how many wait for it besides
}

// fairness is what the turns of this process have to do with those of others.
type fairness struct {
	run        run
	series     series
	debt       debt
	had        had
	left       time.Duration // until when the key is left to others; see LeaveFor
	remembered time.Duration // until when all this matters though nobody holds or waits
}

// Hold counts a hold that lives from now on.
func (q *Queue) Hold(mode string) { q.holds.add(mode, 1) }

// Unhold takes a hold off the count. A waiter that stood behind it is told by Released or Grant.
func (q *Queue) Unhold(mode string) { q.holds.add(mode, -1) }

// Idle reports that the queue knows nothing but the holds: nobody waits, no registrar is at work, and neither a run nor
// a debt has to be remembered, nor since when the key was held. A run is until the key is really released, but for a
// series.
func (q *Queue) Idle() bool {
	return q.first == nil && !q.registrar && q.run.passes == 0 && q.series.turns == 0 && q.debt.owes == 0 &&
		q.had.until == 0
}

// Empty reports that nobody waits, and no registrar is at work.
func (q *Queue) Empty() bool { return q.first == nil && !q.registrar }

// Forget drops all but the holds. It returns how many there are.
func (q *Queue) Forget() (holds int) {
	*q = Queue{holds: q.holds}
	return q.holds.total()
}

// Waiters are those that wait, in their order.
func (q *Queue) Waiters() iter.Seq[*Waiter] {
	return func(yield func(*Waiter) bool) {
		for w := q.first; w != nil; w = w.next {
			if !yield(w) {
				return
			}
		}
	}
}

// Followed reports that others stand behind w, or are likely to come, since it stood behind others itself.
func (q *Queue) Followed(w *Waiter) bool { return w.next != nil || w.changed != nil }

// Excluded reports whether a local hold is in the way of a kind.
func (q *Queue) Excluded(k Kind) bool { return q.holds.any(k.Excludes) }

// Enter puts w at the end of the queue. It asks at once if nothing of this process is in the way.
func (q *Queue) Enter(w *Waiter) {
	awaits := q.awaits(w)
	q.append(w)
	if awaits {
		q.await(w)
		return
	}
	if w.Manner == Inside || w.Several && q.blocking == 0 && !q.Excluded(w.Kind) {
		w.state = Asking
		return
	}
	w.state, q.calm = Waiting, false
	q.promote()
	if w.state == Waiting {
		w.wait(Waiting)
	} else if w.Manner == Joins && q.asker == nil {
		q.asker = w
	}
}

// Try puts w into the queue and has it ask at once, beside others, unless somebody here can refuse it: then it
// reports false, and w does not enter.
func (q *Queue) Try(w *Waiter) bool {
	if w.Manner != Inside && q.refuses(w) {
		return false
	}
	q.append(w)
	w.state = Asking
	return true
}

// refuses reports that a try of w need not ask the store: a local hold is in its way, or somebody in the queue that it
// follows and that was refused, by the store or by such a hold, and so has an older claim. A waiter that was not
// refused has none. While the store is silent, what it said before says nothing.
func (q *Queue) refuses(w *Waiter) bool {
	if q.Excluded(w.Kind) {
		return true
	}
	if q.said.Err != nil {
		return false
	}
	for other := q.first; other != nil; other = other.next {
		if w.Kind.Follows(other.Kind.Mode()) && (other.refused || q.Excluded(other.Kind)) {
			return true
		}
	}
	return false
}

// Remains is what a waiter that left has to clean up: what it alone owns.
type Remains struct {
	Hold bool   // it was granted a hold, which is its to end; that is all then
	ID   string // something may stand in the store for this id; "": nothing does, or somebody else cleans up
	Late int64  // until when a registration under it that had no answer may be carried out; 0: there is none
}

// Leave takes w out of the queue, and lets those behind it go on.
func (q *Queue) Leave(w *Waiter) (left Remains) {
	switch w.state {
	case Granted:
		w.state = Left
		return Remains{Hold: true}
	case Left:
		return Remains{}
	default:
		if w.sent {
			left = Remains{ID: w.ID, Late: w.Late()}
		}
	}
	q.remove(w, Left)
	q.askerLeaves(w)
	q.promote()
	return left
}

// Win ends the wait of one that asked and got its hold, which was counted before, if it is one. The key was taken
// through the store, so a new run begins.
func (q *Queue) Win(w *Waiter) {
	q.remove(w, Granted)
	q.run.passes = 0
	if !q.Awaited(w) {
		q.askerIsDone(w)
	}
	q.promote()
}

// Released lets those go on that a hold was in the way of, which was taken off the count before. If its release
// ended a run, others is how many other processes heard of that: each is owed a turn.
func (q *Queue) Released(others int, now time.Duration) {
	if others > 0 {
		q.debt.incur(others, now)
	}
	if w := q.first; w != nil && w.state == Asking {
		w.signal()
	}
	q.promote()
}

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
	} else if w = q.Heir(mode); w != nil && (q.holds.anyBesides(mode, w.Kind.Follows) || q.dated(w, now)) {
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

// promote has those at the front of the queue ask whom nothing of this process stops. It ends at the first that has
// to wait: nobody overtakes. For an exclusive lock that is the first in the queue or nobody; readers ask together.
func (q *Queue) promote() {
	if q.calm && q.blocking == 0 {
		return
	}
	var ahead modes
	for w := q.first; w != nil; w = w.next {
		if q.Excluded(w.Kind) || ahead.any(w.Kind.Follows) {
			return
		}
		if w.state == Waiting {
			w.state = Asking
			w.signal()
		}
		if w.next != nil && w.blocks() {
			ahead.add(w.Kind.Mode(), 1)
		}
	}
	q.calm = true
}

func (q *Queue) append(w *Waiter) {
	w.prev, w.next = q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	if w.blocks() {
		q.blocking++
	}
}

// remove takes w out of the queue, if it is there, and gives it a state of those that are not.
func (q *Queue) remove(w *Waiter, to State) {
	if w.state == Awaiting {
		q.unawait(w)
	}
	listed := w.listed()
	if w.state = to; !listed {
		return
	}
	if w.blocks() {
		q.blocking--
	}
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}
