package lock

import (
	"errors"
	"fmt"
)

// The errors of this module. Match them with errors.Is: what is returned wraps them, names the lock,
// and joins the cause, so that one error can match several (ErrBusy and context.DeadlineExceeded, say,
// or ErrUnavailable and the Redis error). The texts begin with "rlock: ", whatever the store.
var (
	// ErrBusy means that another holds the lock: the last answer in this call said so.
	ErrBusy = errors.New("rlock: the lock is held by another")

	// ErrNotHeld means that there is no hold to act on: it was unlocked before, or ctx carries none.
	ErrNotHeld = errors.New("rlock: the lock is not held")

	// ErrLost means that the hold ended without its owner's doing. The error is a *LostError.
	ErrLost = errors.New("rlock: the lock was lost")

	// ErrReleased is what a hold's context ends with after unlock.
	ErrReleased = errors.New("rlock: the lock was released")

	// ErrClosed means that the client is closed.
	ErrClosed = errors.New("rlock: the client is closed")

	// ErrUnavailable means that Redis did not answer, or answered with an error, which it wraps. Where that says
	// that the user lacks a right, or that its credentials are refused, the text does not speak of a Redis that is
	// unavailable but of the right; nothing is waited for then.
	ErrUnavailable = errors.New("rlock: redis is unavailable")

	// ErrKeyConflict means that something that is no such lock is at the lock's key, or at the key of
	// its fencing token: another type, or another hash. Nothing was written. Lock and TryLock return it
	// also for a lock that has no expiry, which some other program left: nobody would ever free it, so
	// nobody waits for it. Inspect shows its holder, and Break ends it.
	ErrKeyConflict = errors.New("rlock: the key is used for something else")
)

// LossReason says how a hold was lost.
type LossReason int

// The reasons of a loss.
const (
	// LossExpired: validity ended, because no renewal was confirmed in time or the lease was fixed.
	LossExpired LossReason = iota + 1
	// LossGone: Redis said that the hold is not there any more: deleted, evicted, broken by an
	// operator, or forgotten in a restart or failover.
	LossGone
	// LossMaxHold: it was held for as long as MaxHold allows.
	LossMaxHold
)

// String tells the reason in words.
func (r LossReason) String() string {
	switch r {
	case LossExpired:
		return "lease expired"
	case LossGone:
		return "key is gone from Redis"
	case LossMaxHold:
		return "MaxHold exceeded"
	}
	return fmt.Sprintf("LossReason(%d)", int(r))
}

// LostError tells which hold was lost, and why. It matches ErrLost. It is the cause that the hold's
// context ends with, and what unlock then returns.
type LostError struct {
	Name   string
	Reason LossReason
	Err    error // what lies behind the reason, if that is known: the error of the last renewal, say
}

// Error implements error.
func (e *LostError) Error() string {
	s := fmt.Sprintf("rlock: lock %q lost: %v", e.Name, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes a LostError match ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// ArgumentError refuses a bad value before anything is sent.
type ArgumentError struct {
	Name    string // of the argument, field or option
	Value   any    // what was given; nil if Problem says all there is to say
	Problem string // what is wrong, or what has to be
}

// Error implements error.
func (e *ArgumentError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("rlock: %s %s", e.Name, e.Problem)
	}
	return fmt.Sprintf("rlock: %s %s (got %v)", e.Name, e.Problem, e.Value)
}
