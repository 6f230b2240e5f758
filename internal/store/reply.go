package store

import (
	"strconv"
	"time"
)

// Status is the outcome of a request.
type Status int64

// The statuses. The numbers are those that Redis's scripts return.
const (
	TooLate Status = -1 // it arrived too late; nothing was written. A store sends it again, and says so to nobody.
	Busy    Status = 0  // another holds the lock; nothing was written
	Held    Status = 1  // taken by this request
	Already Status = 2  // done by an earlier copy of this request; nothing was written
	Done    Status = 3  // done by this request
	Gone    Status = 4  // the hold does not exist; nothing was written
	Apart   Status = -9 // one of several in a request: nothing was done for it, it must be sent by itself
)

// String implements [fmt.Stringer].
func (s Status) String() string {
	switch s {
	case TooLate:
		return "late"
	case Busy:
		return "busy"
	case Held:
		return "held"
	case Already:
		return "already"
	case Done:
		return "done"
	case Gone:
		return "gone"
	case Apart:
		return "apart"
	default:
		return "status " + strconv.FormatInt(int64(s), 10)
	}
}

// Wrote reports that the request, or an earlier copy of it, changed something.
func (s Status) Wrote() bool { return s == Held || s == Already || s == Done }

// Late reports that the request came too late: nothing was looked at.
func (r AcquireReply) Late() bool { return r.Status == TooLate }

// Late reports that the request came too late: nothing was looked at.
func (r AcquireAllReply) Late() bool { return r.Status == TooLate }

// AcquireReply is the answer to a request for a hold.
type AcquireReply struct {
	Status Status        // Held, Already or Busy; with Ask.From or More, Gone and not Busy
	Fence  int64         // Held: the new token; Already: the stored one; 0: there is none, or it is that of Ask.From
	Spare  int64         // Held: how many numbers right below the token are the hold's too
	PTTL   time.Duration // Busy and Already: the rest of the existing lease
	Poll   time.Duration // Busy: how soon to ask again, without a message; 0: the store does not know
	Inside bool          // Held and Already: it stands inside the hold Ask.Under, which has the lock
	Ticket int64         // Busy, if waiters have a queue in the store: this one's place
	Lapsed bool          // with a Ticket: the store had given up the waiters of this client

	// Held, if waiters have a queue in the store: up to the ticket Next they are this client's, 0: not even the first.
	// Swapped says that the hold was meant for another of them, which got the place of the one that came.
	Next    int64
	Swapped bool

	// Recalled, with Busy, says that the id of the one that has it is marked, and that its client was told.
	Recalled bool

	// Also, with Busy, is another channel on which the holder publishes its release. The code that knows the
	// keys adds it, not the script.
	Also string

	// Why, with Busy, is the error for the caller instead of "busy". It does not come from the script
	// either.
	Why error
}

// AcquireAllReply is the answer to a request for several holds.
type AcquireAllReply struct {
	Status Status        // Held, Already or Busy
	Which  int           // Busy: the member in question
	PTTL   time.Duration // Busy: the rest of its lease
	Poll   time.Duration // Busy: as of an [AcquireReply]
	Fences []int64       // Held and Already: the tokens, one per member

	Recalled bool // Busy: as of an [AcquireReply]
}

// ReleaseReply is the answer to a release.
type ReleaseReply struct {
	Status    Status // Done or Gone
	Receivers int64  // Done: how many received the message, at this node; -1: it could not be published
}

// EnqueueReply is the answer to a registration of waiters.
type EnqueueReply struct {
	Status  Status  // Done
	Tickets []int64 // places in the queue, one per waiter
	Lapsed  bool    // the store knew of no living waiter of this client: it may have given up all that had places
	Next    int64   // up to this ticket those that stand next are this client's; 0: not even the first
}

// Holder is one hold in the store.
type Holder struct {
	ID    string // of this module, or Redisson's <client>:<thread>
	Count int64
	TTL   time.Duration // if holders have leases of their own; 0: the reply's PTTL; negative: no expiry
}

// Queued is one waiter in the store's queue.
type Queued struct {
	ID    string
	Since int64 // server time of its arrival, in µs
}

// InspectReply is what a store reports about a lock.
type InspectReply struct {
	PTTL        time.Duration // negative: nobody holds the lock, or it never expires
	Holders     []Holder
	More        int64 // holders that were not looked at; some of them may be dead
	Fence       int64 // the newest token of the name; 0: there is none
	Subscribers int64 // of the channel, at this node; negative: the server does not say
	Queue       []Queued
	QueueMore   int64 // waiters that were not looked at; some of them may be dead

	Transactions []Transaction // that keep the lock from others, whoever has it
}

// Transaction is one of a database, of the application or an operator, that has locked the row of a lock.
type Transaction struct {
	PID      int64  // of its session; 0: it is prepared
	Prepared string // its name then
	Open     time.Duration
	State    string // what its session does; "" if this user may not see it
}
