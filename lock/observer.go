package lock

import (
	"context"
	"time"
)

// Observer is a set of callbacks for metrics and traces. Nil functions are skipped, and an Observer that is not set
// costs nothing.
//
// Begin and End report calls, Held and Ended report holds. Every Begin is followed by one End, whichever way the call
// ends, and every Held by one Ended, by the end of the client's Close at the latest. They are not told of a call that
// is refused before it begins anything (an *ArgumentError, a client that is closed), nor of one that re-enters a hold
// which its context carries. Import is reported too, as a call with Try set. A multilock is one call and one hold, told
// to the client of its first lock; Renewed and Lost are told of each of its locks, by that lock's own client.
//
// Held comes before its call's End, since that has the hold's id. A hold that is lost while Held runs has its Ended,
// and its call goes on and may have another Held. Ended of one turn may come after Held of the next one.
//
// Begin, End and Held run in the goroutine that locks, and delay it. Ended delays the goroutine that unlocks, unless
// the hold ends by itself or by Close: then it runs where Lost does. Renewed runs in a goroutine of its own, one event
// after another, and so do Lost and Command: a function that blocks delays the next event of its kind, but never a
// command, a renewal, a loss or the log. Losses and ends are never dropped. Renewals and commands are dropped when some
// thousands are queued, and the log says how many. A panic is logged and goes no further. None of the functions may
// call Close, because Close waits for them.
type Observer struct {
	// Begin: a call begins that acquires something. The context that it returns, or ctx if that is nil, is passed to
	// End. It should be a child of ctx.
	Begin func(ctx context.Context, call Call) context.Context
	// End: the call ends, after waiting this long. The error is what the call returns: nil if it acquired.
	// OutcomeOf turns it into a label.
	End func(ctx context.Context, call Call, waited time.Duration, err error)
	// Held: the hold that the call acquired begins. The ctx is the caller's. The context that it returns is the parent
	// of the held context, and must be a child of ctx; nil leaves that to ctx. So work is no child of a wait that is
	// over, unless Held says so. Of a multilock, ctx carries all its locks already, and what is made of it is the held
	// context. What is acquired without a hold (a latch, a counting semaphore) is told by End alone.
	Held func(ctx context.Context, call Call) context.Context
	// Ended: the hold ended, after this long. The ctx is what Held returned, or the caller's. The error is nil after an
	// unlock that the store confirmed or that passed the lock on in this process, a *LostError after a loss, a
	// *ReleaseError if the store has not confirmed the release, ErrClosed if Close ended it, and ErrExported if it was
	// exported. OutcomeOfHold turns it into a label.
	Ended func(ctx context.Context, call Call, held time.Duration, err error)

	// Renewed: a renewal was confirmed, or failed. A failed renewal is not yet a loss.
	Renewed func(renewal Renewal)
	// Lost: the hold was lost, and why. Every loss is reported: while Lost blocks, one error for each lost hold stays
	// in memory.
	Lost func(err *LostError)

	// Command: a script was answered by a server, or was not. There is one event for each script that is sent, also if
	// its caller has left, and for those that could not be sent because there was no connection. A redlock has one for
	// each of its nodes that is asked, but not for answers that come when Close has released its holds. Not told are
	// subscriptions, WAIT, and the questions that a client asks about the server.
	Command func(command Command)
}

// Call is one call that acquires something.
type Call struct {
	Store   Store
	Name    string // of a multilock, the names in the order in which they were given, separated by commas
	Kind    Kind
	Permits int  // of a semaphore; 0 otherwise
	Try     bool // it makes one attempt and does not wait

	// Of a hold, and so for Held and Ended and for an End without an error. A multilock's holds have their own.
	HoldID string
	Fence  int64 // fencing token; 0 if the kind has none
}

// Renewal is one renewal of a lease, and what became of it.
type Renewal struct {
	Store Store
	Name  string // of the lock; of a multilock, each lock has its own renewals
	Kind  Kind
	Err   error // nil if the store confirmed it. ReasonOf turns it into a label
}

// Command is one script that was sent to a server, and what became of it.
type Command struct {
	Store Store
	// Script is its name, for Redis as in package lua: "acquire", "release", "renew"; "acquire_many" serves several
	// calls.
	Script string
	// Calls is how many scripts were sent with it in one round trip to one server, itself included.
	Calls int
	// Took is the time from sending to the answer, or until no caller waited for it any more. It includes waiting for a
	// connection, and making one.
	Took time.Duration
	// Err is the error that the server answered, or what happened to the connection. ReasonOf turns it into a label.
	// That a server does not know a script yet is no error; the script, which then follows in full, is another Command.
	Err error
}
