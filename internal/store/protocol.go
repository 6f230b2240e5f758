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

	// Acquire takes the lock, not later than the ask allows. The receipt comes with an error, too. Nobody changes the
	// ask until the request is over, also if it was left ([Left]).
	Acquire(ctx context.Context, ask *Ask) (AcquireReply, Receipt, error)
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
	// id that is nobody's: the hold ends, and others get the lock when that time is over. If the store's clock was set
	// back since, it retains the lock for most, from when it is carried out.
	Retaining(until int64, most time.Duration, as string) Protocol

	// Enqueue registers waiters that have no place in the store's queue, and restores the places of those that had
	// one. From then on the store knows that this process lives. When it is sent, and how late it may be carried out,
	// is that of the first.
	Enqueue(ctx context.Context, asks []Ask) (EnqueueReply, Receipt, error)
}

// Layout is what stands in the store at a name. Kinds of the same layout look at each other's holds and waiters in
// memory: their [Rules] say how. With another layout a name is in conflict, or what stands there means something else,
// and that the store alone can say; so to a kind of another layout it is another lock.
type Layout uint8

// The layouts of a name.
const (
	OneHolder Layout = iota
	ReadersWriter
	Permits
	Count
	Latch
	Layouts // how many there are
)

// Traits distinguish a primitive. The zero Traits are those of a lock for which one caller at a time asks.
type Traits struct {
	Layout Layout // of what stands in the store at the name
	Kind   string // what events call the primitive
	Noun   string // what texts of errors call the primitive; "" is "lock"
	// Busy is why an attempt is refused while others hold. It matches the engine's own error, which it is if nil.
	Busy error
	// Unset is what an answer's Why is where nothing was set that could be given. Calls that wait then are logged.
	Unset error

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
	// Transactions of the application may keep the lock from others, and no release ends them: Inspect tells them.
	Transactions bool

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
	More   bool   // of [Traits] Keeps: further tokens for the hold that has the ID; Gone if there is none
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

// Queue is what a store needs to know of a lock whose waiters have a queue in it.
type Queue struct {
	Times     QueueTimes
	Client    string // channel of a client, but for the client: <Client><client id>
	Strangers string // channel on which those listen who do not know of the queue
}

// QueueTimes are the times of such a queue, in ms.
type QueueTimes struct {
	Life    int64 // a client that is not heard of for so long is taken for dead
	Step    int64 // the queue's clock goes on by that from one call to the next at most
	Unused  int64 // the queue's keys expire so long after the last call
	Grant   int64 // an invitation stands so long
	Restore int64 // a queue that was lost has so long to come back
	Run     int64 // the lock goes from one to the next so long without being free
	Pause   int64 // and then stays free so long, if anybody else listens
}

// Timing is when a request is sent, and how late it may be carried out.
type Timing struct {
	Sent   time.Duration // on the client's clock, taken before anything that may hold the request up
	Within time.Duration // it has no effect later than that after its sending, as far as the store can tell
}

// Receipt is what is known of a request that took something or may have: since when the lease counts that it began, and
// until when a copy of it can be carried out. The zero Receipt is that of a request that was not sent.
type Receipt struct {
	Since time.Duration // on the client's clock: no lease that the request began may be counted from later
	Late  Late
}

// Late is until when copies of requests under one id can be carried out. Only the store knows what the number means. Of
// two of the same id the greater one covers both; with 0 none can.
type Late int64

// Note is what a holder says of itself beside its lock. The zero Note is none.
type Note struct {
	ID    string // of the hold
	Fence int64  // the hold's token
	Since int64  // when the token was first noted, in server time in µs; not of a note that is to be written
	Text  string
}

// A Noter is a protocol that keeps a note beside the lock for as long as the hold stands; see [Traits].
type Noter interface {
	// Note writes a note, or takes it away. The status is Done; Gone if the hold is not there; Busy if there is one
	// of a newer token. A copy changes nothing.
	Note(ctx context.Context, note Note, take bool) (Status, error)
	// Noted reads the note of the hold that stands now.
	Noted(ctx context.Context) (Note, error)
}
