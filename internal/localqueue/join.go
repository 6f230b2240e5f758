package localqueue

import "time"

// JoinTime is how long after a request was sent the hold that it took is joined. Trip is how long it took.
//
// A reader that comes while others of its process read may join their hold, which costs no request. It does what the
// store would do with its request as long as it would be let in there: while no writer waits. Of those of this process
// the queue knows. A writer of another one shuts a gate in the store, which is seen by those only who ask. So a hold is
// joined for the time of a run, counted from the request that took it and found the gate open: writers wait for that,
// and for those who read then, and all who come later ask, and wait at the gate.
//
// A reader that was told to wait comes from a gate, and the writer who shut it is likely to be back soon: its hold is
// joined for a few round trips and no longer, since readers who join without a pause would otherwise keep each writer
// waiting for the whole time.
func JoinTime(trip time.Duration, waited bool) time.Duration {
	if waited {
		return outweighs(trip) / 2
	}
	return max(runShort, outweighs(trip))
}

// Join reports whether one of a kind may join a hold of its mode that lives here: nobody waits whom it follows, and
// nobody was told to wait, whom it would overtake. What excludes it excludes that hold, too.
func (q *Queue) Join(k Kind) bool { return q.overtakesOnly(k, nil) }

// overtakesOnly reports that one of a kind that comes in now overtakes none of those that go first, but perhaps one
// that comes in together with it.
func (q *Queue) overtakesOnly(k Kind, together *Waiter) bool {
	for w := q.first; w != nil; w = w.next {
		if w != together && (w.refused || k.Follows(w.Kind.Mode())) {
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
// If that one is told to wait, because a writer has the lock or waits for it, so would the others be: they go on
// waiting for its answer, and it asks for all of them. Sixty-four readers at a writer's gate send one request for each
// message, and not sixty-four. If it leaves, another one asks.
//
// If there is no answer, or none within [AwaitTime], or nothing to join when it comes, those that wait for it ask for
// themselves, as if they had come then. So a lost request delays others by that time at most, and not until it is given
// up.
func AwaitTime(trip time.Duration) time.Duration {
	if 2*trip > runTime {
		return 0
	}
	return JoinTime(trip, false)
}

// awaits reports whether w, which is about to enter, is to wait for another's answer: it could ask at once, and so did
// that one.
func (q *Queue) awaits(w *Waiter) bool {
	a := q.asker
	return w.Manner == Joins && a != nil && a.state == Asking && a.Kind.Mode() == w.Kind.Mode() &&
		!q.Excluded(w.Kind) && q.overtakesOnly(w.Kind, a)
}

// await has w wait for another's answer.
func (q *Queue) await(w *Waiter) {
	q.awaiting++
	w.wait(Awaiting)
}

// Awaited reports that others wait for what the store answers w.
func (q *Queue) Awaited(w *Waiter) bool { return q.asker == w && q.awaiting > 0 }

// Overdue has w ask for itself, if it waits for another's answer, and all that wait for the same one; unless that one
// was told to wait.
func (q *Queue) Overdue(w *Waiter) {
	if w.state == Awaiting && !q.asker.refused {
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

// askerLeaves has another one ask in place of w, for those that wait for its answer.
func (q *Queue) askerLeaves(w *Waiter) {
	if q.asker != w {
		return
	}
	q.asker = nil
	for a := q.first; a != nil && q.asker == nil; a = a.next {
		if a.state == Awaiting {
			q.asker = a
			q.unawait(a)
		}
	}
}

func (q *Queue) unawait(w *Waiter) {
	w.state, q.calm = Waiting, false
	q.awaiting--
}
