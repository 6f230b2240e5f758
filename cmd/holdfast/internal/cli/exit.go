package cli

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

// The exit codes are those of sysexits.h, as flock(1) has them, beside a command's own.
const (
	exitFailed      = 1
	exitUsage       = 64 // EX_USAGE
	exitConflict    = 65 // EX_DATAERR: something else is at the lock's key
	exitUnavailable = 69 // EX_UNAVAILABLE: Redis does not answer
	exitSoftware    = 70 // EX_SOFTWARE: our supervisor was killed
	exitSystem      = 71 // EX_OSERR: the system refuses what we need
	exitLost        = 74 // EX_IOERR: the hold was lost while the command ran
	exitBusy        = 75 // EX_TEMPFAIL: another caller holds the lock
	exitDenied      = 77 // EX_NOPERM: Redis refuses the credentials, or a right
)

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// codeError carries an exit code. Without an err there is nothing to print.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e codeError) Unwrap() error { return e.err }

// exitCode is the exit code for an error that a command returned.
func exitCode(err error) int {
	var coded codeError
	var usage usageError
	var argument *rlock.ArgumentError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage), errors.As(err, &argument):
		return exitUsage
	case errors.Is(err, rlock.ErrLost):
		return exitLost
	case store.Denied(err):
		return exitDenied
	case errors.Is(err, rlock.ErrUnavailable):
		return exitUnavailable
	case errors.Is(err, rlock.ErrKeyConflict):
		return exitConflict
	case errors.Is(err, rlock.ErrBusy):
		return exitBusy
	}
	return exitFailed
}
