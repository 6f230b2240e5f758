package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/legible"
)

// The errors of this module. Match them with errors.Is: a returned error wraps one of these, names the lock, and
// joins the cause, so one error can match several (ErrBusy and context.DeadlineExceeded, say, or ErrUnavailable and
// a *net.OpError). The texts begin with "holdfast: ", whatever the store.
var (
	// ErrBusy means that another holds the lock: the store's last answer about the name said so, to this call or to
	// another call of this process, or a live hold of this process is in the way. The answer may be older than the
	// call.
	ErrBusy = errors.New("holdfast: the lock is held by another caller")

	// ErrNotHeld means that there is no hold to act on: it was unlocked before, or ctx carries none.
	ErrNotHeld = errors.New("holdfast: the lock is not held")

	// ErrLost means that the hold ended before its owner unlocked it. The error is a *LostError.
	ErrLost = errors.New("holdfast: the lock was lost")

	// ErrUnconfirmed means that the hold is over here, and was valid until its unlock, and that the store has not
	// confirmed the release: the work was done, and others may have to wait for a while. The error is a *ReleaseError,
	// which does not match ErrUnavailable. Only unlock and Do return it, and Do only if its function returned nil.
	ErrUnconfirmed = errors.New("holdfast: the release of the lock is unconfirmed")

	// ErrReleased is the cause with which a hold's context ends after unlock.
	ErrReleased = errors.New("holdfast: the lock was released")

	// ErrClosed means that the client is closed.
	ErrClosed = errors.New("holdfast: the client is closed")

	// ErrExported is what Observer.Ended is told of a hold that Export handed to another process.
	ErrExported = errors.New("holdfast: the hold was exported")

	// ErrUnavailable means that nobody knows whether the lock is held: no live hold of this process is in the way, and
	// the newest request about the name that this process finished had no answer, or an error for an answer, which this
	// one wraps; or no request was answered before the call ended. A request that its caller's end kept from being sent
	// does not count. What one call was told counts for the others while any of them waits for the name.
	//
	// The text of what a call returns names the store. If the store denied the user a right or refused its credentials,
	// the text says so instead of calling the store unavailable, and the call does not wait. From Do it means that the
	// function was not called, unless the error is a *WorkError: then the function returned it.
	ErrUnavailable = errors.New("holdfast: the store is unavailable")

	// ErrKeyConflict means that the lock's key, or the key of its fencing token, holds something else: another type,
	// or a hash of another kind. Nothing was written. Lock and TryLock also return it for a lock without an expiry,
	// which some other program left: nothing would ever free it, so waiting is pointless. Inspect shows its holder,
	// and Break ends it.
	ErrKeyConflict = errors.New("holdfast: the key is used for something else")
)

// LossReason says how a hold was lost.
type LossReason int

// The reasons of a loss.
const (
	// LossExpired: validity ended, because no renewal was confirmed in time or the lease was fixed. With the option
	// Grace, the hold ended that long before; Err says so.
	LossExpired LossReason = iota + 1
	// LossGone: the store said that the hold no longer exists: its key was deleted or evicted, an operator broke it, or
	// a restart or failover forgot it.
	LossGone
	// LossMaxHold: MaxHold elapsed before unlock.
	LossMaxHold
)

// String describes the reason in words.
func (r LossReason) String() string {
	switch r {
	case LossExpired:
		return "lease expired"
	case LossGone:
		return "gone from the store"
	case LossMaxHold:
		return "MaxHold exceeded"
	}
	return fmt.Sprintf("LossReason(%d)", int(r))
}

// LostError says which hold was lost, and why. It matches ErrLost. A lost hold's context ends with it as the cause,
// and unlock then returns it.
type LostError struct {
	Name   string
	Kind   Kind // of the lock
	Reason LossReason
	Err    error // the underlying cause if it is known, such as the error of the last renewal
}

// Error implements error.
func (e *LostError) Error() string {
	s := fmt.Sprintf("holdfast: %s lost: %v", grant(e.Kind, e.Name), e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes a LostError match ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// ReleaseError says that a hold was valid until its unlock, and that the store has not confirmed the release: it did
// not answer within ReleaseTimeout, or it refused. The hold is over here all the same, and its context has ended. In
// the background the release is sent again and again, until the store confirms it or the lease has ended. A hold of
// package etcdlock or zklock has no lease of its own: Until is zero, and the release is sent until the Client is
// closed.
//
// It matches ErrUnconfirmed, and nothing that Err matches: errors.Is and errors.As do not look into Err, so that
// no caller takes the error for one of a call that did nothing.
type ReleaseError struct {
	Name  string
	Kind  Kind
	Until time.Time // by then the lease has ended, whether or not the store hears of the release
	Err   error     // the last error of the release
}

// Error implements error.
func (e *ReleaseError) Error() string {
	end := "the store confirms it or the client is closed"
	if !e.Until.IsZero() {
		end = fmt.Sprintf("the lease ends (%s at the latest)", e.Until.Format(time.RFC3339))
	}
	s := fmt.Sprintf("holdfast: %s was held to the end of the work, but its release is unconfirmed, "+
		"and goes on in the background until %s", grant(e.Kind, e.Name), end)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes a ReleaseError match ErrUnconfirmed.
func (e *ReleaseError) Is(target error) bool { return target == ErrUnconfirmed }

// TransactionError is the error of a Break after which transactions of PostgreSQL keep the lock from everybody: those
// of pglock.Tx that are still open, or somebody's who has locked the row by hand. No hold has the lock then, or its row
// cannot be written. Others find the lock busy until the transactions end, so it matches ErrBusy. Its text has the
// statements that end them: what they have written is then rolled back.
type TransactionError struct {
	Name         string
	Kind         Kind
	Transactions []Transaction // the oldest first
}

// Error implements error.
func (e *TransactionError) Error() string {
	s := fmt.Sprintf("holdfast: %s cannot be taken from transactions that have locked its row: ",
		grant(e.Kind, e.Name))
	for i, one := range e.Transactions {
		if i > 0 {
			s += "; "
		}
		s += one.String()
	}
	return s
}

// Is makes a TransactionError match ErrBusy.
func (e *TransactionError) Is(target error) bool { return target == ErrBusy }

// ReentryError says that the context of a call carries a hold of the lock already, and that the handle was made with
// NonReentrant. Nothing was sent, and the hold is what it was.
type ReentryError struct {
	Name string
	Kind Kind // of the lock that the context carries
	// Place is the file and line where the hold was taken, if that was by a handle with NonReentrant too; otherwise it
	// is not known, and empty.
	Place string
}

// Error implements error.
func (e *ReentryError) Error() string {
	s := fmt.Sprintf("holdfast: NonReentrant: the context carries a hold of %s already", grant(e.Kind, e.Name))
	if e.Place != "" {
		s += ", taken at " + e.Place
	}
	return s + "; give work that must queue WithoutHolds(ctx), or the context from before the Lock"
}

// grant is what texts call that which a hold of a kind has.
func grant(kind Kind, name string) string {
	if kind == KindSemaphore {
		return fmt.Sprintf("permit of semaphore %q", name)
	}
	return fmt.Sprintf("lock %q", name)
}

// ArgumentError reports an invalid value, before anything is sent.
type ArgumentError struct {
	Name    string // of the argument, field or option
	Value   any    // what was given; nil if Problem says everything
	Problem string // what is wrong, or what is required
}

// Error implements error.
func (e *ArgumentError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("holdfast: %s %s", e.Name, e.Problem)
	}
	return legible.Sentence(fmt.Sprintf("holdfast: %s %s (got %v)", e.Name, e.Problem, e.Value))
}
