package localqueue

import "time"

// line is what is known of the queue that the store keeps.
type line struct {
	registrar bool          // somebody registers the waiters that have no place in it
	next      int64         // up to that ticket the places in it are this process's, in its order
	stood     time.Duration // when the request was sent that the store answered so
}

// Stands notes up to which ticket those that stand next in the store's queue are this process's, as the store answered
// a request of an instant.
//
// Turns of those that stand in a queue which the store keeps. A hold may pass to the first here only where that is
// the store's next as well: it was registered, nobody else's waiters stand before its ticket, and nothing that was sent
// under its id can come late and give it a place again. For the same reason the first waiter asks only now and
// then while a hold of its own process is in its way, and waits in between like everybody.
func (q *Queue) Stands(next int64, asked time.Duration) {
	if asked >= q.stood {
		q.next, q.stood = next, asked
	}
}

// Swapped notes that the hold that the store gave to one of this process was meant for another: that one has another
// place than it was told, and nobody knows which one it is.
func (q *Queue) Swapped() {
	for w := q.first; w != nil; w = w.next {
		if w.Registers() {
			w.Place.unsure = true
		}
	}
}

// inTurn reports whether a hold may pass to w as far as the store's queue is concerned, if it is in one. One that is to
// be registered has no ticket or an unsure one, and a registration may be under way, or carried out later.
func (q *Queue) inTurn(w *Waiter) bool {
	p := w.Place
	return p == nil || w.ticket > 0 && w.ticket <= q.next && !p.unsure && !p.registering && p.late == 0
}

// dated reports that a hold must not pass to w any more, because too much may have happened to the store's queue: one
// that was taken for dead may have come back to an earlier place. After so long asking costs little, too. The way that
// the answer took is not counted: a store that is further away than that would never let a hold pass.
func (q *Queue) dated(w *Waiter, now time.Duration) bool {
	return w.Registers() && now-q.stood >= runTime+min(q.run.trip, longTrip)
}

// Poll has the first in the queue ask, behind a hold of its own process: all that the store keeps for this process
// hangs on its being heard of. It reports whether w is in the queue at all.
func (q *Queue) Poll(w *Waiter) (listed bool) {
	if w == q.first && w.state == Waiting && !w.Place.isRegistering() {
		w.state = Asking
		w.signal()
	}
	return w.listed()
}
