package localqueue

// BeginRegistrar reports whether the caller is to be the registrar, for the sake of w.
//
// Registration in a queue that Redis keeps. The order between processes is that of arrival, and not of coming to the
// front here, so a waiter that stands behind others of its process is registered by a registrar, of which there
// is one per key. Whoever asks is registered by that.
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

// Unplaced takes the next that have no place in Redis's queue, or perhaps another one than they were told. If there
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

// Lapse notes that Redis may have given up all of this process's waiters that have places: they are to be registered
// again, with their tickets, but for those of the batch whose registration said so. It reports whether the caller is
// to be the registrar, which it can be only if that was said by something else.
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

// Entrants takes those of a batch that have not left, and notes until when their registration, which is sent now,
// may be carried out: whoever leaves until it is answered has it taken back for as long. One that left
// before has had taken back what there was then, and nobody would take its place away any more.
func (q *Queue) Entrants(batch []*Waiter, notAfter int64) (still []*Waiter) {
	for _, w := range batch {
		if w.state == Left {
			continue
		}
		// What is said of its place from here on may be newer than what Redis is about to answer.
		p := w.Place
		p.entering, w.sent, p.unsure = max(p.entering, notAfter), true, false
		still = append(still, w)
	}
	return still
}

// Registered ends a registration. If its outcome is unknown, it stays noted until when it may happen, whatever becomes
// of those that follow: each of its copies makes an entry for one that left meanwhile.
func (q *Queue) Registered(batch []*Waiter, tickets []int64, unknown bool) {
	for i, w := range batch {
		p := w.Place
		p.registering = false
		if unknown {
			p.late = p.entering
		}
		p.entering = p.late
		if i < len(tickets) {
			w.ticket = tickets[i]
		} else {
			p.unsure = true
		}
		if w.state == Asking {
			w.tell()
		}
	}
}
