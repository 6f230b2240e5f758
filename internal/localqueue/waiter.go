package localqueue

import "time"

// State is where a waiter stands; the package comment has the table.
type State uint8

const (
	Waiting State = iota // behind somebody
	Asking               // it may ask Redis
	Granted              // the hold is its
	Left                 // it left
)

// Waiter is one call that does not have its hold yet. The first fields are the caller's, and do not change while
// it waits; the id changes by the queue's methods only.
type Waiter struct {
	Kind  Kind
	Owner any           // the caller's own waiter, which this one is a part of
	Since time.Duration // when the call began

	Several   bool  // any number of its kind ask at a time, since none takes what excludes another
	Inside    bool  // the caller has a hold of another mode of the key, and so stands behind nobody
	Set       bool  // it wants other keys as well, and so never takes a hold that is passed on
	Joins     bool  // it may join a hold of its mode that another one of its process is granted
	Shared    bool  // it takes nothing: what Redis answers one is the answer to all who were waiting then
	Size      int64 // of the portion that it wants; 0: it wants something else
	Registers bool  // Redis keeps a queue for its kind

	ID string

	ticket      int64 // its place in Redis's queue, if there is one; 0: none yet
	late        int64 // until when a registration in that queue that had no answer may be carried out; 0: there is none
	registering bool  // a registration is under way
	unsure      bool  // the place may be another than the ticket says, or gone
	sent        bool  // a request may have been sent under the present id
	refused     bool  // it was told to wait, by Redis or by a hold of this process

	awaits bool // it waits for what Redis answers another one

	requesting bool // of a portion: a request of its own is under way, or may still be carried out

	state      State
	told       chan struct{} // its state changed; capacity 1; nil for one that never had to wait
	next, prev *Waiter
	listed     bool
}

// Told is written to when the state of a waiter that had to wait has changed. It is nil for others.
func (w *Waiter) Told() <-chan struct{} { return w.told }

// Ticket is the place that the waiter has in Redis's queue; 0 if it has none yet.
func (w *Waiter) Ticket() int64 { return w.ticket }

// Late is until when a registration of the waiter that had no answer may be carried out; 0 if there is none.
func (w *Waiter) Late() int64 { return w.late }

// HasWaited reports that the waiter had to wait, for a hold or another waiter of this process, or was told to.
func (w *Waiter) HasWaited() bool { return w.refused || w.told != nil }

// Look is the waiter's state. While it is being registered, it is told to wait even if it is its turn: one request at
// a time uses its id.
func (w *Waiter) Look() State {
	if w.state == Asking && w.registering {
		return Waiting
	}
	return w.state
}

// Asks notes that the waiter is about to send a request under its id. In Redis's queue, that gives it its place.
func (w *Waiter) Asks() { w.sent, w.unsure = true, false }

// Rename gives the waiter a new id, under which nothing was ever sent. What may stand in Redis for the old one is
// the caller's to clean up.
func (w *Waiter) Rename(id string) { w.ID, w.sent, w.late = id, false, 0 }

// SetTicket notes the place in Redis's queue that the waiter was given.
func (w *Waiter) SetTicket(ticket int64) { w.ticket = ticket }

// blocks reports whether those that follow w stand behind it: always, except one of several that may ask at
// a time, which is in nobody's way until it was refused.
func (w *Waiter) blocks() bool { return w.refused || !w.Several }

func (w *Waiter) tell() {
	select {
	case w.told <- struct{}{}:
	default:
	}
}

// wait puts w behind others, and has it told when that changes.
func (w *Waiter) wait() {
	w.state = Waiting
	if w.told == nil {
		w.told = make(chan struct{}, 1)
	}
}
