package localqueue

// Place is what a process knows of a waiter's place in a queue that the store keeps, besides its ticket. A nil Place is
// that of a waiter for whose kind the store keeps none.
type Place struct {
	late        int64 // until when a registration that had no answer may be carried out; 0: there is none
	registering bool  // a registration is under way
	unsure      bool  // the place may be another than the ticket says, or gone
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
