package localqueue

import "time"

// State is where a waiter stands; the package comment has the table.
type State uint8

const (
	Absent   State = iota // it has not come to the queue
	Waiting               // behind somebody
	Awaiting              // what the store answers another one
	Asking                // it may ask the store
	Granted               // the hold is its
	Left                  // it left
)

// Manner is how a waiter differs from a plain one, which waits for a hold of its own.
type Manner uint8

const (
	Plain  Manner = iota
	Inside        // its caller has a hold of another mode of the key, and so it stands behind nobody
	Set           // it wants other keys as well, and so never takes a hold that is passed on
	Joins         // it may join a hold of its mode that another one of its process is granted
	Looks         // it takes nothing: what the store answers one is the answer to all who were waiting then
)

// Caller is what a call says of itself when it comes. It is constant.
type Caller struct {
	Kind    Kind
	Manner  Manner
	Several bool          // any number of its kind ask at a time, since none takes what excludes another
	Size    int64         // of the portion that it wants; 0: it wants something else
	Of      any           // the caller's own waiter, which the queue's is a part of
	Since   time.Duration // when the call began
}

// Waiter is what the queue of a key knows of one call, from when it comes until it has its hold or leaves. Its id, and
// everything below that, changes by the queue's methods and its own only.
type Waiter struct {
	Caller
	ID    string
	Place *Place // in the queue that the store keeps for its kind; nil if it keeps none; constant

	// ticket is what an answer gave it to name when it asks again; 0: nothing. It is the number of its place, and where
	// there is none it means something to the store alone (to redlock, that it has asked before).
	ticket int64

	sent       bool // a request may have been sent under the present id
	refused    bool // it was told to wait, by the store or by a hold of this process
	requesting bool // of a portion: a request of its own is under way, or may still be carried out

	state      State
	changed    chan struct{} // its state changed; capacity 1; nil for one that never had to wait
	next, prev *Waiter       // in the queue, while it is listed
}

// Changed is written to when the state of a waiter that had to wait has changed, or a hold of its process is released
// behind which it asks. It is nil for others.
func (w *Waiter) Changed() <-chan struct{} { return w.changed }

// Ticket is the number of the waiter's place in the store's queue; 0 if it has none yet.
func (w *Waiter) Ticket() int64 { return w.ticket }

// SetTicket notes the number that the waiter was given.
func (w *Waiter) SetTicket(ticket int64) { w.ticket = ticket }

// WasRefused reports that the waiter was told to wait, by the store or by a hold of this process.
func (w *Waiter) WasRefused() bool { return w.refused }

// HasWaited reports that the waiter had to wait, for a hold or another waiter of this process, or was told to.
func (w *Waiter) HasWaited() bool { return w.refused || w.changed != nil }

// Look is the waiter's state. While it is being registered, it is told to wait even if it is its turn: one request at
// a time uses its id.
func (w *Waiter) Look() State {
	if w.state == Asking && w.Place.isRegistering() {
		return Waiting
	}
	return w.state
}

// listed reports that the waiter is in the queue.
func (w *Waiter) listed() bool { return w.state == Waiting || w.state == Awaiting || w.state == Asking }

// Asks notes that the waiter is about to send a request under its id. In the store's queue, that gives it its place.
func (w *Waiter) Asks() {
	w.sent = true
	w.Place.asked()
}

// Rename gives the waiter a new id, under which nothing was ever sent. What may stand in the store for the old one is
// the caller's to clean up.
func (w *Waiter) Rename(id string) {
	w.ID, w.sent = id, false
	w.Place.renamed()
}

// blocks reports whether those that follow w stand behind it: always, except one of several that may ask at
// a time, which is in nobody's way until it was refused.
func (w *Waiter) blocks() bool { return w.refused || !w.Several }

func (w *Waiter) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// wait puts w behind others, or has it await another's answer, and has it told when that changes.
func (w *Waiter) wait(as State) {
	w.state = as
	if w.changed == nil {
		w.changed = make(chan struct{}, 1)
	}
}
