package store

import (
	"context"
	"time"
)

// Rules are who excludes whom at one name. They have no state, and are safe for concurrent use.
type Rules interface {
	Name() string    // as the application wrote it; for errors, events and logs
	Key() string     // the key that carries the lock: its node serves every call
	Mode() string    // tells the sides of one name apart; "" where there is one
	Channel() string // where a release is published; "": nowhere, attempts are repeated at random times
	Traits() *Traits // never changed

	// Excludes reports that, while a local hold of the given mode lives, asking the store is pointless.
	Excludes(held string) bool
	// Follows reports that a local waiter of the given mode that came earlier goes first.
	Follows(ahead string) bool
	// Inherits reports that Handoff can turn a hold of the given mode into one of this mode.
	Inherits(held string) bool
}

// A Protocol is one primitive at one name of a store: what excludes what, and its requests. It has no state of its
// own; every method is safe for concurrent use.
//
// Methods with a context send one request and report what it was answered. They do not repeat anything: repeating, and
// knowing what a repetition means, is the engine's part. The context's deadline is the request's time limit.
type Protocol interface {
	Rules

	Acquire(ctx context.Context, ask Ask) (AcquireReply, error)
	Release(ctx context.Context, id string) (ReleaseReply, error)
	Handoff(ctx context.Context, from string, ask Ask) (HandoffReply, error)
	Adopt(ctx context.Context, from string, ask Ask) (AdoptReply, error)
	Reenter(ctx context.Context, step Step) (StepReply, error)
	Leave(ctx context.Context, step Step) (StepReply, error)
	Inspect(ctx context.Context) (InspectReply, error)

	// Enqueue registers waiters that have no place in the store's queue, and gives back their place to those who had
	// one. First says that no other waiter of this process has a place: nobody has told yet that it lives.
	Enqueue(ctx context.Context, asks []Ask, first bool) (EnqueueReply, error)
}

// Traits are what sets a primitive apart. The zero Traits are those of a lock that one at a time asks for.
type Traits struct {
	Passes bool // holds pass to others of the process without a request: the store does not know who has them
	// Portion is how much of something that several have at a time a hold is; 0 where one has all. A portion has no
	// fencing token, and passes to whoever asked for as much.
	Portion int64
	// Counts says that the store decides nothing by how many levels a hold has.
	Counts bool
	// Unscripted, with Passes, says that there is no Handoff: a hold is passed on without a request, or released.
	Unscripted bool

	Joins  bool // it is taken and released with others of its kind by one request: AcquireAll, ReleaseAll
	Queues bool // waiters stand in a queue in the store: Enqueue
	Marks  bool // an attempt leaves something though another has the lock, which Release takes away: a gate, a place
	Crowds bool // any number may ask at a time, since nothing that one of them takes excludes the others

	// Under says what a request does whose context carries a live hold of another mode of the same key: it passes
	// the queue, with that hold's id in Ask.Under; it is refused; or neither, and it waits like everybody. It is nil
	// for a primitive with one side.
	Under func(name, mode string) (pass bool, err error)
	// Stays is the error of who tries to move a hold to another process, where that cannot be.
	Stays error
	// CheckLease is the error of who asks for a lease that the primitive refuses; nil where it takes every one.
	// Whoever makes a request asks first, wherever the lease comes from.
	CheckLease func(lease time.Duration) error
}

// Ask is one attempt to come to a hold.
type Ask struct {
	ID       string
	Lease    time.Duration
	NotAfter int64  // server time in µs after which nothing may be written any more
	Under    string // the hold of another side that the caller has; "": none
	Ticket   int64  // the place in the store's queue that it was given; 0: none yet
	Once     bool   // nobody waits if it is answered "busy", so nothing needs to be left for that
	Waited   bool   // where any number may ask: the caller has been waiting for this already

	// For what the store remembers by the request's id: until when, in server time in µs, it may be sent again
	// (0: not known), and which requests before it were answered.
	Until   int64
	Settled []Settled
}

// Step is a change inside a hold: it now has Count levels, by its operation number Op, and the
// longest lease that one of them needs is TTL.
type Step struct {
	ID        string
	Count, Op int64
	TTL       time.Duration
}
