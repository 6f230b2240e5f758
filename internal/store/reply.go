package store

import (
	"strconv"
	"time"
)

// Status is what became of a request.
type Status int64

// The statuses, each with the number by which the scripts of Redis tell it.
const (
	Late    Status = -1 // read after its not-after; nothing was written
	Busy    Status = 0  // another holds the lock; nothing was written
	Held    Status = 1  // taken by this request
	Already Status = 2  // done by an earlier copy of this request; nothing was written
	Done    Status = 3  // done by this request
	Gone    Status = 4  // the hold is not there; nothing was written
	Apart   Status = -9 // one of several in a request: nothing was done for it, it has to be sent by itself
)

// String implements [fmt.Stringer].
func (s Status) String() string {
	switch s {
	case Late:
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

// AcquireReply is the answer to a request for a hold.
type AcquireReply struct {
	Status Status        // Held, Already, Busy or Late
	Fence  int64         // Held: the new token; Already: the stored one; 0: there is none
	Spare  int64         // Held: how many numbers right below the token are the hold's too
	PTTL   time.Duration // Busy and Already: what is left of the lease that stands
	Now    int64         // server time in µs
	Ticket int64         // Busy, where waiters stand in a queue: this one's place
	Lapsed bool          // with a Ticket: the store had given up the waiters of this client

	// Also, with Busy, is a channel on which the holder tells of its release besides the usual one. It is
	// not the script's, but added by who knows the keys.
	Also string

	// Why, with Busy, is what the caller is told instead of "busy". It is not the script's either.
	Why error
}

// AcquireAllReply is the answer to a request for several holds.
type AcquireAllReply struct {
	Status Status        // Held, Already, Busy or Late
	Which  int           // Busy: the member in question
	PTTL   time.Duration // Busy: what is left of its lease
	Now    int64         // server time in µs
	Fences []int64       // Held and Already: the tokens, one per member
}

// ReleaseReply is the answer to a release.
type ReleaseReply struct {
	Status    Status // Done or Gone
	Receivers int64  // Done: who heard of it, at this node; -1: Redis refused to publish
	Now       int64  // where it was asked for: server time in µs, read before the hold was looked at
}

// HandoffReply is the answer to a hand-off.
type HandoffReply struct {
	Status Status // Done, Already, Gone or Late
	Fence  int64  // Done: the new token; Already: the stored one; 0: there is none
	Spare  int64  // Done: how many numbers right below the token are the new hold's too
	Now    int64  // server time in µs
}

// AdoptReply is the answer to a request for an exported hold.
type AdoptReply struct {
	Status Status // Done, Already, Gone or Late
	Now    int64  // server time in µs
}

// StepReply is the answer to a step.
type StepReply struct {
	Status Status // Done, Already or Gone
}

// EnqueueReply is the answer to a registration of waiters.
type EnqueueReply struct {
	Status  Status  // Done or Late
	Tickets []int64 // places in the queue, one per waiter
	Now     int64   // server time in µs
}

// Holder is one hold, as it stands in the store.
type Holder struct {
	ID    string // one of ours, or Redisson's <client>:<thread>
	Count int64
	TTL   time.Duration // where holders have leases of their own; 0: the reply's PTTL; negative: for ever
}

// Queued is one waiter in the store's queue.
type Queued struct {
	ID    string
	Since int64 // server time of its arrival, in µs
}

// InspectReply is what a store tells of a lock.
type InspectReply struct {
	PTTL        time.Duration // negative: nobody holds the lock, or it never expires
	Holders     []Holder
	More        int64 // holders that were not looked at; some of them may be dead
	Fence       int64 // the newest token of the name; 0: there is none
	Subscribers int64 // of the channel, at this node; negative: the server does not tell
	Queue       []Queued
	QueueMore   int64 // waiters that were not looked at; some of them may be dead
}

// Settled is a request that was answered. It has to be remembered until the not-after of its last copy only.
type Settled struct {
	ID       string
	NotAfter int64 // server time in µs
}

// Changed is what one sending of a change came to.
type Changed[R any] struct {
	Reply  R
	Status Status // Late; Done or Already if something was written, now or by an earlier copy
	Now    int64  // server time in µs
}
