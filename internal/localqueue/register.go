package localqueue

// Registration in a queue that Redis keeps. The order between processes is that of arrival, and not of coming to the
// front here, so a waiter that stands behind others of its process is registered by a registrar, of which there
// is one per key. Whoever asks is registered by that.

// BeginRegistrar reports whether the caller is to be the registrar, for the sake of w.
func (q *Queue) BeginRegistrar(w *Waiter) bool {
	if q.registrar || w.state != Waiting {
		return false
	}
	q.registrar = true
	return true
}

// EndRegistrar notes that the registrar has stopped.
func (q *Queue) EndRegistrar() { q.registrar = false }

// Unplaced takes the next that have no place in Redis's queue. If there are none, the registrar's work is
// done. First reports that nobody in the queue has one.
func (q *Queue) Unplaced(most int) (batch []*Waiter, first bool) {
	first = true
	for w := q.first; w != nil && (first || len(batch) < most); w = w.next {
		first = first && w.ticket == 0
		if w.Registers && w.state == Waiting && w.ticket == 0 && len(batch) < most {
			w.registering = true
			batch = append(batch, w)
		}
	}
	if len(batch) == 0 {
		q.registrar = false
	}
	return batch, first
}

// PlacedBehind are those behind w that have a place in Redis's queue.
func (q *Queue) PlacedBehind(w *Waiter) (behind []*Waiter) {
	for other := w.next; other != nil; other = other.next {
		if other.state == Waiting && other.ticket != 0 {
			behind = append(behind, other)
		}
	}
	return behind
}

// Again takes those of a batch that still wait, to be registered once more.
func (q *Queue) Again(batch []*Waiter) (still []*Waiter) {
	for _, w := range batch {
		if w.state == Waiting && !w.registering {
			w.registering = true
			still = append(still, w)
		}
	}
	return still
}

// Entrants takes those of a batch that have not left, and notes until when their registration, which is sent now,
// may be carried out: whoever leaves until it is answered has it taken back for as long. One that left
// before has had taken back what there was then, and nobody would take its place away any more.
func (q *Queue) Entrants(batch []*Waiter, notAfter int64) (still []*Waiter) {
	for _, w := range batch {
		if w.state == Left {
			continue
		}
		w.entering, w.sent = max(w.entering, notAfter), true
		still = append(still, w)
	}
	return still
}

// Registered ends a registration. If its outcome is unknown, it stays noted until when it may happen, whatever becomes
// of those that follow: each of its copies makes an entry for one that left meanwhile.
func (q *Queue) Registered(batch []*Waiter, tickets []int64, unknown bool) {
	for i, w := range batch {
		w.registering = false
		if unknown {
			w.late = w.entering
		}
		w.entering = w.late
		if i < len(tickets) {
			w.ticket = tickets[i]
		}
		if w.state == Asking {
			w.tell()
		}
	}
}
