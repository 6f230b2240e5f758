package localqueue

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
