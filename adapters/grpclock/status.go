package grpclock

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
)

// Code is the gRPC code that says what an error of a lock means to the client of a call: OK for nil, and for a release
// that is unconfirmed, because the work was done; Aborted for a busy or a lost lock, Unavailable for a store that does
// not answer and a closed client, DeadlineExceeded and Canceled for a context that ended, InvalidArgument for a bad
// name, FailedPrecondition for a key that is something else's, and otherwise Internal. Texts of errors name locks, so
// do not send them to clients.
//
// A busy lock is Aborted, which package codes gives to conflicts of concurrent callers, and which clients retry at a
// higher level: from reading what they want to change. ResourceExhausted would tell them of a quota that they used
// up, and Unavailable would have a retry policy of gRPC repeat the call at once, in front of a lock that is held.
func Code(err error) codes.Code {
	var argument *lock.ArgumentError
	switch {
	case err == nil, vocabulary.OnlyUnconfirmed(err):
		return codes.OK
	case errors.Is(err, lock.ErrLost):
		return codes.Aborted
	// A store that does not answer may match DeadlineExceeded too, by a timeout that was not the caller's.
	case errors.Is(err, lock.ErrUnavailable), errors.Is(err, lock.ErrClosed):
		return codes.Unavailable
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, lock.ErrBusy):
		return codes.Aborted
	case errors.As(err, &argument):
		return codes.InvalidArgument
	case errors.Is(err, lock.ErrKeyConflict):
		return codes.FailedPrecondition
	}
	return codes.Internal
}

// refusal is the status of a call that a lock refused, or that lost it. It keeps the lock's error for interceptors.
type refusal struct {
	code codes.Code
	err  error
}

// refused returns the status for an error of Lock. If the caller's context has ended, that is the answer.
func refused(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, lock.ErrLost) {
		return &refusal{code: status.FromContextError(end).Code(), err: err}
	}
	return &refusal{code: Code(err), err: err}
}

// finished returns the status of a call whose handler ran under the lock and returned answer; release is the error of
// the hold.
func finished(answer, release error) error {
	if errors.Is(release, lock.ErrLost) || errors.Is(release, lock.ErrClosed) {
		return &refusal{code: Code(release), err: errors.Join(release, answer)}
	}
	return answer // the hold was valid to its end, if its release is unconfirmed too
}

// Error implements error, for the server's logs.
func (r *refusal) Error() string { return "grpclock: " + r.err.Error() }

// Unwrap returns the lock's error.
func (r *refusal) Unwrap() error { return r.err }

// GRPCStatus is what the client gets. It has no names of locks.
func (r *refusal) GRPCStatus() *status.Status {
	var lost *lock.LostError
	switch {
	case errors.As(r.err, &lost):
		return status.New(r.code, "the lock was lost: "+lost.Reason.String())
	case r.code == codes.Aborted:
		return status.New(r.code, "another call holds the lock; try again later")
	case r.code == codes.InvalidArgument:
		return status.New(r.code, "the request names no valid lock")
	case r.code == codes.DeadlineExceeded, r.code == codes.Canceled:
		return status.New(r.code, "the call ended while it waited for the lock")
	}
	return status.New(r.code, "the lock cannot be taken")
}
