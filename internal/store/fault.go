package store

import (
	"errors"
	"fmt"
)

// Fault is what an error of a request means for whoever sent it.
type Fault int

// The faults.
const (
	FaultNone      Fault = iota
	FaultAmbiguous       // the request may have been carried out, or may still be until its not-after
	FaultTransient       // it was not; the same one may succeed later
	FaultConflict        // something that is no such lock is at the key
	FaultDefinite        // it was not carried out and will not be
)

// Failure is an error of which the store knows what it means. Its text is that of the error it unwraps to.
type Failure struct {
	Fault  Fault
	Denied bool // the database answers, and refuses whoever asks
	Err    error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns what the database or the connection said.
func (f *Failure) Unwrap() error { return f.Err }

// Refused is an error that a Protocol returns instead of sending, or for an answer that says that it was
// asked for something impossible: the call ends with Err as it is.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refused) Unwrap() error { return r.Err }

// SettledError is an error that a Protocol returns when it has seen to it that nothing of the call is left or
// will be, though not all of it was answered.
type SettledError struct{ Err error }

func (s *SettledError) Error() string { return s.Err.Error() }

// Unwrap returns Err.
func (s *SettledError) Unwrap() error { return s.Err }

// ShortfallError says that too few replicas confirmed a write that the primary made.
type ShortfallError struct {
	Got, Want int
	Err       error
}

func (s *ShortfallError) Error() string {
	text := fmt.Sprintf("%d of %d replicas confirmed the write in time", s.Got, s.Want)
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}

// Unwrap returns why the replicas could not be asked; nil if they were.
func (s *ShortfallError) Unwrap() error { return s.Err }

var (
	// ErrUnsent is the error of a request whose context ended before it was sent. It never is.
	ErrUnsent = errors.New("the context is over or the client closed; nothing was sent")
	// ErrLate is the error of a request whose time limit was over before it was sent. It never is.
	ErrLate = errors.New("the time limit was over before the command was sent")
	// ErrConflict is matched by the error of a request that found something else than a lock or a fencing token
	// at its key. Nothing was written.
	ErrConflict = errors.New("the key holds something else")
	// ErrApart is matched where one request cannot serve all that it was made for. Sent one by one, they can be.
	ErrApart = errors.New("the locks cannot be taken by one script now")
)

// Left is the error of a request whose caller's context ended while it was under way.
type Left struct {
	// Settled is closed when the request was carried out or never will be, as far as the store can tell; at the
	// request's time limit at the latest.
	Settled <-chan struct{}
}

func (*Left) Error() string { return "the context ended before the reply came" }

// FaultOf sorts an error.
func FaultOf(err error) Fault {
	if err == nil {
		return FaultNone // before the variables below are made
	}
	return sortOut(err)
}

func sortOut(err error) Fault {
	var shortfall *ShortfallError
	var impossible *Refused
	var settled *SettledError
	var known *Failure
	switch {
	case errors.As(err, &shortfall):
		return FaultAmbiguous
	case errors.Is(err, ErrConflict):
		return FaultConflict
	case errors.As(err, &impossible), errors.Is(err, ErrUnsent):
		return FaultDefinite
	case errors.As(err, &settled), errors.Is(err, ErrLate):
		return FaultTransient
	case errors.As(err, &known):
		return known.Fault
	}
	return FaultAmbiguous
}

// Denied reports that the database refused whoever asks.
func Denied(err error) bool {
	var known *Failure
	return errors.As(err, &known) && known.Denied
}
