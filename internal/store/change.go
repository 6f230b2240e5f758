package store

import "time"

// Change is something that is done to the number of a semaphore or a latch, and that nobody holds afterwards. It counts
// once: a copy is recognised by the id of its [Ask].
type Change struct {
	Verb Verb
	N    int64
	Life time.Duration // of a latch's Set: until the count ends by itself; 0: it does not
}

// Verb says what a [Change] does.
type Verb int

// The verbs. The reply's Value is what is left of the number, unless something else is said.
const (
	Look   Verb = iota // changes nothing
	Set                // begin with N, or [Busy] if there is a number; of permits with leases, N are all from now on
	Add                // N more, or fewer if N is below zero
	Down               // one less
	Drain              // to zero; the Value is what was taken
	Delete             // take it away; of permits with leases, [Busy] while any are held, and the Value is how many

	// Of permits with leases only. The Value is their capacity, of Add as well; [Gone] if none was set.
	Size  // changes nothing
	Begin // N are all from now on, or [Busy] if a capacity was set
)

// ChangeReply is the answer to a change.
type ChangeReply struct {
	Status Status // Done, Already, or Busy where that is said
	Value  int64
}
