package localqueue

// Place is what a process knows of a waiter's place in a queue that Redis keeps, besides its ticket. A nil Place is
// that of a waiter for whose kind Redis keeps none.
type Place struct {
	entering    int64 // server time, µs, until which a registration in that queue may be carried out; 0: none is
	late        int64 // the same, of registrations that had no answer
	registering bool  // such a request is under way
	unsure      bool  // the place may be another than the ticket says, or gone
}

// Registers reports that Redis keeps a queue for the waiter's kind.
func (w *Waiter) Registers() bool { return w.Place != nil }

// Entering is until when a registration of the waiter may be carried out, in server time in µs; 0 if none is.
func (w *Waiter) Entering() int64 {
	if w.Place == nil {
		return 0
	}
	return w.Place.entering
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
		p.entering, p.late = 0, 0
	}
}
