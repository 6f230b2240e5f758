package lock

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/handle"
)

// WorkError is the error of a Do that called its function: what the function returned, and what became of the hold. Any
// other error of Do means that the function was not called. So look for a WorkError first: an error that the work
// returned may be one of another lock, or of a context of its own.
//
//	var work *lock.WorkError
//	switch err := l.Do(ctx, fn); {
//	case err == nil: // done
//	case !errors.As(err, &work): // fn was not called: ErrBusy, ErrUnavailable, ...
//	case errors.Is(work.Hold, lock.ErrLost): // another may have been inside while fn ran
//	case work.Err != nil: // fn failed
//	default: // fn is done, and the release is unconfirmed, or the client was closed
//	}
//
// It matches what Err and Hold match, except that it matches ErrUnconfirmed, and is a *ReleaseError, only if Err is nil
// or does so itself: work that failed is never taken for work that was done.
type WorkError struct {
	Err  error // what the function returned; nil: it says that the work is done
	Hold error // what unlock returned, such as a *LostError or a *ReleaseError; nil: held to the end, and released
}

// Join makes the error that Do returns of what the work returned and what unlock returned, for work under Lock and
// unlock. It is nil if both are, and otherwise a *WorkError.
//
//	defer func() { err = lock.Join(err, unlock()) }() // err is the function's named result
func Join(work, unlocked error) error {
	if work == nil && unlocked == nil {
		return nil
	}
	return &WorkError{Err: work, Hold: unlocked}
}

// Error implements error. What both errors say is told once.
func (e *WorkError) Error() string {
	if both := handle.Join(e.Err, e.Hold); both != nil {
		return both.Error()
	}
	return "holdfast: no error of the work, and none of the hold"
}

// Unwrap returns what the error matches.
func (e *WorkError) Unwrap() (all []error) {
	if e.Err == nil {
		return []error{e.Hold}
	}
	if e.Hold == nil {
		return []error{e.Err}
	}
	return []error{e.Err, besideFailure{e.Hold}}
}

// besideFailure is what unlock returned after work that failed. ErrUnconfirmed says that the work was done, and so it
// does not match here. The end of a hold of several locks can be a loss and an unconfirmed release at once.
type besideFailure struct{ error }

func (b besideFailure) Is(target error) bool {
	return target != ErrUnconfirmed && errors.Is(b.error, target)
}

func (b besideFailure) As(target any) bool {
	if _, unconfirmed := target.(**ReleaseError); unconfirmed {
		return false
	}
	return errors.As(b.error, target)
}
