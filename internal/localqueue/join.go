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
