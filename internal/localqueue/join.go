package localqueue

import "time"

// JoinTime is how long after a request was sent the hold that it took is joined. Trip is how long it took.
//
// A reader that comes while others of its process read may join their hold, which costs no request. It does what the
// store would do with its request as long as it would be let in there: while no writer waits. Of those of this process
// the queue knows. A writer of another one shuts a gate in the store, which is seen by those only who ask. So a hold is
// joined for the time of a run, counted from the request that took it and found the gate open: writers wait for that,
// and for those who read then, and all who come later ask, and wait at the gate.
func JoinTime(trip time.Duration) time.Duration { return max(runShort, outweighs(trip)) }

// Join reports whether one of a kind may join a hold of its mode that lives here: nobody waits whom it follows, and
// nobody was told to wait, whom it would overtake. What excludes it excludes that hold, too.
func (q *Queue) Join(k Kind) bool {
	for w := q.first; w != nil; w = w.next {
		if w.refused || k.Follows(w.Kind.Mode()) {
			return false
		}
	}
	return true
}

// AwaitTime is how long a reader waits for the answer to another's request, where a round trip takes trip; 0: not at
// all, because the store is so far away that the hold could hardly be joined when the answer comes.
//
// A reader that comes while another one of its process asks the store may wait for the answer to that request, and join
// the hold that it brings: the rest of a round trip is shorter than one of its own, and nothing is sent. So many
// readers send one request, and not one each, whenever there is no hold to join: when they come, and each time that a
// hold was joined for long enough.
//
// If the answer is not a grant, if there is none, if it takes longer than [AwaitTime], or if the reader that asked
// leaves, those that wait for it ask for themselves, as if they had come then. So a lost request delays others by that
// time at most, and not until it is given up.
func AwaitTime(trip time.Duration) time.Duration {
	if 2*trip > runTime {
		return 0
	}
	return JoinTime(trip)
}

// awaits reports whether w, which is about to enter, is to wait for another's answer: it could ask at once, and so did
// that one.
func (q *Queue) awaits(w *Waiter) bool {
	a := q.asker
	return w.Manner == Joins && a != nil && a.state == Asking && a.Kind.Mode() == w.Kind.Mode() &&
		!q.Excluded(w.Kind) && q.Join(w.Kind)
}

// await has w wait for another's answer.
func (q *Queue) await(w *Waiter) {
	q.awaiting++
	w.wait(Awaiting)
}

// Awaited reports that others wait for what the store answers w.
func (q *Queue) Awaited(w *Waiter) bool { return q.asker == w && q.awaiting > 0 }

// Overdue has w ask for itself, if it waits for another's answer, and all that wait for the same one.
func (q *Queue) Overdue(w *Waiter) {
	if w.state == Awaiting {
		q.askerIsDone(q.asker)
	}
}

// Bring ends the wait for the answer to w's request, which was a grant. Join adds a waiter to the grant, or reports
// that it cannot. A waiter that does not join, or would overtake somebody who was told to wait since, asks for itself.
func (q *Queue) Bring(w *Waiter, join func(*Waiter) bool) {
	if q.asker != w {
		return
	}
	for a := q.first; a != nil && !a.refused && !w.Kind.Follows(a.Kind.Mode()); {
		joins := a
		a = a.next
		if joins.state == Awaiting && join(joins) {
			q.remove(joins, Granted)
			joins.signal()
		}
	}
	q.askerIsDone(w)
}

// askerIsDone has those ask for themselves that wait for w's answer.
func (q *Queue) askerIsDone(w *Waiter) {
	if w == nil || q.asker != w {
		return
	}
	q.asker = nil
	for a := q.first; a != nil && q.awaiting > 0; a = a.next {
		if a.state == Awaiting {
			q.unawait(a)
		}
	}
	q.promote()
}

func (q *Queue) unawait(w *Waiter) {
	w.state, q.calm = Waiting, false
	q.awaiting--
}
