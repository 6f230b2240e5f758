package store

import (
	"context"
	"time"
)

// Rules say which holds exclude each other at one name. They have no state, and are safe for concurrent use.
type Rules interface {
	Name() string    // as the application wrote it; for errors, events and logs
	Key() string     // the key that carries the lock: its node serves every call
	Mode() string    // distinguishes the sides of one name; "" if there is only one
	Channel() string // where a release is published; "": nowhere, attempts are repeated at random times
	Traits() *Traits // never changed

	// Excludes reports that asking the store is pointless while a local hold of the given mode is live.
	Excludes(held string) bool
	// Follows reports that a local waiter of the given mode that came earlier goes first.
	Follows(ahead string) bool
	// Inherits reports that a hold of the given mode can pass to a waiter of this mode.
	Inherits(held string) bool
}

// A Protocol is one primitive at one name of a store: its rules and its requests. It has no state of its own; every
// method is safe for concurrent use.
//
// A method with a context sends one request and returns the answer. It never repeats a request: the engine decides
// when to repeat, and knows what that means. The context's deadline is the request's time limit.
type Protocol interface {
	Rules

	// Acquire takes the lock, not later than the ask allows. The receipt comes with an error, too.
	Acquire(ctx context.Context, ask Ask) (AcquireReply, Receipt, error)
	Release(ctx context.Context, id string) (ReleaseReply, error)
	// Levels tells how many levels a hold has: to instead of from, if that is what stands. It returns what stands then,
	// and 0 if there is no such hold. Both numbers are at least 1. It never makes a hold, and changes no lease.
	Levels(ctx context.Context, id string, from, to int64) (stands int64, err error)
	Inspect(ctx context.Context) (InspectReply, error)
	Change(ctx context.Context, what Change, ask Ask) (ChangeReply, Receipt, error)

	// Settled tells that a request which took something that nobody holds was answered, and that nothing is sent under
	// its id any more. A store that remembers it may forget it when no copy can come.
	Settled(id string, late Late)

	// Serving is the protocol of a hold, of this protocol, that was passed on to waiters which have places in the
	// store's queue: its Release takes those away too. Without a queue it is this protocol.
	Serving(ids []string) Protocol
	// Retaining is the protocol of a hold whose Release retains the lock until an instant of [Store.Instant], by a new
	// id that is nobody's: the hold ends, and others get the lock when that time is over.
	Retaining(until int64, as string) Protocol

	// Enqueue registers waiters that have no place in the store's queue, and restores the places of those that had
	// one. From then on the store knows that this process lives. When it is sent, and how late it may be carried out,
	// is that of the first.
	Enqueue(ctx context.Context, asks []Ask) (EnqueueReply, Receipt, error)
}

// Traits distinguish a primitive. The zero Traits are those of a lock for which one caller at a time asks.
type Traits struct {
	Kind string // what events call the primitive
	Noun string // what texts of errors call the primitive; "" is "lock"
	// Busy is why an attempt is refused while others hold. It matches the engine's own error, which it is if nil.
	Busy error

	Passes bool // holds pass to other callers of the process without a request: the store does not know which
	// Portion is a hold's share of something that several callers hold at a time; 0 if one hold takes all. A portion
	// has no fencing token, and passes to a waiter that asked for as much.
	Portion int64
	// Permits is how many one takes of something that is counted; 0 where nothing is.
	Permits int64
	// Counts says that the store keeps how many levels a hold has, for those who look: Levels.
	Counts bool

	Shares bool // several holds of one process may be one for the store: a newcomer joins one that is live
	InSets bool // one request can take and release it with others of its kind: AcquireAll, ReleaseAll
	Queues bool // waiters have a queue in the store: Enqueue
	Marks  bool // a busy attempt leaves something behind that Release removes: a gate, a place
	// Lasts says that no lease of its own ends what stands in the store, but only a release or the end of its client.
	// So a release that had no answer is sent again for as long as there is a client.
	Lasts      bool
	SeveralAsk bool // any number may ask at a time, because what one takes does not exclude the others

	Keeps   bool // a grant may be idle in its process: the store tells that others wait, by its marked id
	Notes   bool // the holder can say something of itself: the protocol is a Noter
	MinHold bool // a release can retain the lock for a time: Retaining

	// Under decides about a request whose context carries a live hold of another mode of the same key: it passes the
	// queue, with that hold's id in Ask.Under; it is refused; or neither, and it waits like any other. It is nil for
	// a primitive with one side.
	Under func(name, mode string) (pass bool, err error)
	// Stays is the error of moving a hold to another process, if the primitive does not allow it.
	Stays error
	// CheckLease returns the error for a lease that the primitive refuses, which names the option that it comes from;
	// nil if it accepts every lease. The maker of a request calls it first.
	CheckLease func(option string, lease time.Duration) error
}

// Ask is one attempt to get a hold.
type Ask struct {
	ID     string
	Lease  time.Duration
	Timing        // of the request
	From   string // the hold that becomes this one, and keeps its token: it is exported or imported; "": none
	Beside bool   // with From: that hold stays, and this one is made beside it
	Under  string // the caller's hold of another side; "": none
	Ticket int64  // its place in the store's queue; 0: none yet
	Once   bool   // nobody waits if the answer is "busy", so nothing need be left behind
	Waited bool   // where any number may ask: the caller has been waiting for this already

	// For a [Change], which the store remembers by its id: the receipt of its first sending (zero: this is the first),
	// and for how long after that it is sent again at most.
	First    Receipt
	Patience time.Duration
}
