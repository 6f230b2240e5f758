package store

import (
	"errors"
	"fmt"
)

// Fault is what an error of a request means for its sender.
type Fault int

// The faults.
const (
	FaultNone      Fault = iota
	FaultAmbiguous       // the request may have been carried out, or may still be until its not-after
	FaultTransient       // it was not; the same request may succeed later
	FaultConflict        // the key holds something that is no such lock
	FaultDefinite        // it was not carried out and will not be
)

// Failure is an error whose meaning the store knows. Its text is that of the error it wraps.
type Failure struct {
	Fault    Fault
	Answered bool // the error is what the database answered
	Denied   bool // that it refuses this client
	Locked   bool // that somebody else's transaction has locked the row, or the table; it serves all else
	Err      error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error of the database or the connection.
func (f *Failure) Unwrap() error { return f.Err }

// Refused is an error that a Protocol returns instead of sending, or for an answer that says that the request
// was impossible. The call ends with Err as it is.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refused) Unwrap() error { return r.Err }

// SettledError is an error that a Protocol returns when it has made sure that the call leaves nothing behind,
// now or later, although not all of its requests were answered.
type SettledError struct{ Err error }

func (s *SettledError) Error() string { return s.Err.Error() }

// Unwrap returns Err.
func (s *SettledError) Unwrap() error { return s.Err }

// ShortfallError says that a write which the primary made was not confirmed as the client asks for it.
type ShortfallError struct {
	Got, Want int  // replicas
	Fsync     bool // the primary and the replicas must have it on their disks
	Primary   bool // the primary has it there
	Err       error
}

// Short reports that too little is confirmed.
func (s *ShortfallError) Short() bool {
	return s.Err != nil || s.Got < s.Want || s.Fsync && !s.Primary
}

func (s *ShortfallError) Error() string {
	text := fmt.Sprintf("%d of %d replicas confirmed the write in time", s.Got, s.Want)
	switch {
	case !s.Fsync && s.Want == 0:
		text = "the write is not confirmed"
	case s.Fsync && !s.Primary:
		text = "the primary did not confirm in time that the write is on its disk"
	case s.Fsync:
		text = fmt.Sprintf("%d of %d replicas confirmed in time that the write is on their disks", s.Got, s.Want)
	}
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}

// Unwrap returns why nothing could be confirmed; nil if the servers were asked.
func (s *ShortfallError) Unwrap() error { return s.Err }

var (
	// ErrUnsent is the error of a request whose context ended before it was sent. It never will be.
	ErrUnsent = errors.New("not sent: the context ended or the client was closed")
	// ErrLate is the error of a request whose time limit ended before it was sent. It never will be.
	ErrLate = errors.New("not sent: the time limit of the command had passed")
	// ErrConflict is matched by the error of a request that found something other than a lock or a fencing token
	// at its key. Nothing was written.
	ErrConflict = errors.New("the key holds something else")
	// ErrApart is matched if one request cannot serve all of its locks. Requests for single locks can.
	ErrApart = errors.New("one script cannot acquire all of the locks now")
)

// Left is the error of a request whose caller's context ended while it was under way.
type Left struct {
	// Settled is closed when the request was carried out or never will be, as far as the store can tell, and no
	// later than the request's time limit.
	Settled <-chan struct{}
	// Outcome is for when Settled is closed. It returns nil if the database answered after the caller had left, and why
	// it did not otherwise: [ErrUnsent] if that says nothing about the database.
	Outcome func() error
}

func (*Left) Error() string { return "the context ended before the reply came" }

// FaultOf classifies an error.
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

// Locked reports that the database answered that somebody else's transaction has locked the row, or the table.
func Locked(err error) bool {
	var known *Failure
	return errors.As(err, &known) && known.Locked
}

// Denied reports that the database refused this client.
func Denied(err error) bool {
	var known *Failure
	return errors.As(err, &known) && known.Denied
}
