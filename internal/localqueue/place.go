package localqueue

import "time"

// Place is what a process knows of a waiter's place in a queue that the store keeps, besides its ticket. A nil Place is
// that of a waiter for whose kind the store keeps none.
type Place struct {
	late        int64 // until when a registration that had no answer may be carried out; 0: there is none
	registering bool  // a registration is under way
	unsure      bool  // the place may be another than the ticket says, or gone
}

// line is what is known of the queue that the store keeps.
type line struct {
	registrar bool          // somebody registers the waiters that have no place in it
	next      int64         // up to that ticket the places in it are this process's, in its order
	stood     time.Duration // when the request was sent that the store answered so
}

// Registers reports that the store keeps a queue for the waiter's kind.
func (w *Waiter) Registers() bool { return w.Place != nil }

// Late is until when a registration of the waiter that had no answer may be carried out; 0 if there is none.
func (w *Waiter) Late() int64 {
	if w.Place == nil {
		return 0
	}
	return w.Place.late
}

func (p *Place) isRegistering() bool { return p != nil && p.registering }

// asked notes that a request of the waiter is sent, which gives it its place.
func (p *Place) asked() {
	if p != nil {
		p.unsure = false
	}
}

// renamed notes that nothing was ever sent under the waiter's new id.
func (p *Place) renamed() {
	if p != nil {
		p.late = 0
	}
}

// BeginRegistrar reports whether the caller is to be the registrar, for the sake of w.
//
// Registration in a queue that the store keeps. The order between processes is that of arrival, and not of coming to
// the front here, so a waiter that stands behind others of its process is registered by a registrar, of which there is
// one per key. A waiter that asks is registered by its request.
func (q *Queue) BeginRegistrar(w *Waiter) bool {
	if q.registrar || w.state != Waiting {
		return false
	}
	q.registrar = true
	return true
}

// EndRegistrar notes that the registrar has stopped.
func (q *Queue) EndRegistrar() {
	q.registrar = false
}

// Unplaced takes the next that have no place in the store's queue, or perhaps another one than they were told. If there
// are none, the registrar's work is done.
func (q *Queue) Unplaced(most int) (batch []*Waiter) {
	for w := q.first; w != nil && len(batch) < most; w = w.next {
		if w.Registers() && w.state == Waiting && (w.ticket == 0 || w.Place.unsure) {
			w.Place.registering = true
			batch = append(batch, w)
		}
	}
	if len(batch) == 0 {
		q.EndRegistrar()
	}
	return batch
}

// Lapse notes that the store may have given up all of this process's waiters that have places: they are to be
// registered again, with their tickets, but for those of the batch whose registration said so. It reports whether the
// caller is to be the registrar, which it can be only if that was said by something else.
func (q *Queue) Lapse(registration bool) (registrar bool) {
	for w := q.first; w != nil; w = w.next {
		if w.Registers() && w.ticket != 0 && !(registration && w.Place.registering) {
			w.Place.unsure = true
			registrar = registrar || w.state == Waiting
		}
	}
	if registrar = registrar && !q.registrar; registrar {
		q.registrar = true
	}
	return registrar
}

// Entrants takes the waiters of a batch that have not left: their registration is sent now. Registered returns the ids
// of waiters that leave before it is answered. A waiter that left earlier has cleaned up already, so nobody would take
// a place away that it got now.
func (q *Queue) Entrants(batch []*Waiter) (still []*Waiter) {
	for _, w := range batch {
		if w.state == Left {
			continue
		}
		// What is said of its place from here on may be newer than what the store is about to answer.
		w.sent, w.Place.unsure = true, false
		still = append(still, w)
	}
	return still
}

// Registered ends a registration, and returns the ids of waiters that left meanwhile: they may have places now. If the
// outcome is unknown, late is until when the registration may be carried out. It stays noted, whatever becomes of later
// registrations, since a copy may give a place to a waiter that has left by then.
func (q *Queue) Registered(batch []*Waiter, tickets []int64, late int64) (left []string) {
	for i, w := range batch {
		p := w.Place
		p.registering, p.late = false, max(p.late, late)
		if w.state == Left {
			left = append(left, w.ID)
		}
		if i < len(tickets) {
			w.ticket = tickets[i]
		} else {
			p.unsure = true
		}
		if w.state == Asking {
			w.signal()
		}
	}
	return left
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
