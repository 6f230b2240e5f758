package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Errors are the errors of the public API. The package that documents them owns them; the engine only
// returns them.
type Errors struct {
	Busy, NotHeld, Unconfirmed, Released, Closed, Unavailable, KeyConflict, Exported error

	// These are what callers are told in place of Unavailable, which they wrap. They name the store.
	Silent error // it does not answer, or answers with an error
	Denied error // it answers, and refuses the client
	Locked error // it answers that somebody else's transaction has locked the row, or the table

	// Lost makes the error that a lost hold's context ends with.
	Lost func(of store.Rules, reason hold.Reason, cause error) error
	// Reentry makes the error of a call that may not enter a hold, which was taken at a place.
	Reentry func(of store.Rules, place string) error
	// Release makes the error of an unlock whose release the store has not confirmed. It matches Unconfirmed alone.
	Release func(of store.Rules, until time.Time, cause error) error
	// Barred makes the error of a Break that leaves a lock with transactions which keep it from others. It may be nil
	// where the store has none.
	Barred func(of store.Rules, by []store.Transaction) error
}

// silence is what a caller is told of an error after which nobody knows who holds the lock.
func (w *Errors) silence(err error) error {
	switch {
	case store.Denied(err):
		return w.Denied
	case store.Locked(err) && w.Locked != nil:
		return w.Locked
	}
	return w.Silent
}

// unserving is what callers are told of a request that was not served because of err, and that is not impossible.
func (w *Errors) unserving(err error) error {
	if store.FaultOf(err) == store.FaultConflict {
		return w.KeyConflict
	}
	return w.silence(err)
}

// Unanswered says what callers are told of a request that the store did not serve: what it is, and why.
func (w *Errors) Unanswered(err error) (kind, cause error) { return w.unserving(err), ours(err) }

// callError is an error of the public vocabulary with what lies behind it. Both match errors.Is, and
// the text names the lock. For example, a Lock whose context ended while another held the lock matches ErrBusy and
// context.DeadlineExceeded, and one whose context ended while the store was silent matches ErrUnavailable in place of
// ErrBusy.
type callError struct {
	kind   error
	of     store.Rules // of the lock
	cause  error
	ctxErr error // the context's error, if it was the context that ended the call
}

func (v *callError) Error() string {
	s := naming(v.kind.Error(), v.of)
	if v.cause != nil {
		s += ": " + v.cause.Error()
	}
	if v.ctxErr != nil {
		s += ": " + v.ctxErr.Error()
	}
	return s
}

// naming returns text with the name of the lock in it. If text speaks of "the lock", the name follows there, and
// otherwise after the first colon: "holdfast: the lock is not held" becomes `holdfast: lock "x" is not held`, and
// "holdfast: Redis is unavailable" becomes `holdfast: lock "x": Redis is unavailable`.
//
// The sentinels keep their general words, because callers also see them alone: as the cause of a context that ended
// with unlock, for example. The name is quoted, so that a line break in it cannot forge a line of a log.
//
// A text is made when somebody asks for it, and not with the error. A TryLock that finds the lock taken is an ordinary
// answer, which most callers look at with errors.Is and never print, so it costs them no formatting.
func naming(text string, of store.Rules) string {
	noun := of.Traits().Noun
	if noun == "" {
		noun = "lock"
	}
	name := noun + " " + strconv.Quote(of.Name())
	for _, spoken := range []string{"the lock ", "the " + noun + " "} {
		if before, after, found := strings.Cut(text, spoken); found {
			return before + name + " " + after
		}
	}
	module, what, found := strings.Cut(text, ": ")
	if !found {
		return name + ": " + text
	}
	return module + ": " + name + ": " + what
}

func (v *callError) Unwrap() []error {
	all := []error{v.kind}
	if v.cause != nil {
		all = append(all, v.cause)
	}
	if v.ctxErr != nil {
		all = append(all, v.ctxErr)
	}
	return all
}

// opaque keeps the text of an error of ours (a command's own time limit) out of errors.Is, where a
// caller would take it for the end of the caller's context.
//
// A context that a caller derived from its own may have a deadline, and so has each command of ours. Both are told as
// context.DeadlineExceeded by the standard library; only the first is the caller's business.
type opaque struct{ err error }

func (o opaque) Error() string { return o.err.Error() }

// Timeout tells a label what errors.Is does not.
func (o opaque) Timeout() bool { return errors.Is(o.err, context.DeadlineExceeded) }

// ours hides a command's own deadline from errors.Is. A caller that looks for context.DeadlineExceeded asks about
// its own context, and would otherwise give up on a store that was slow once.
func ours(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return opaque{err}
	}
	return err
}

// waitedError ends a wait that has lasted for as long as MaxWait allows.
type waitedError time.Duration

func (w waitedError) Error() string { return fmt.Sprintf("MaxWait (%v) elapsed", time.Duration(w)) }

// ContextError is what a call that ctx ended is to return: ctx.Err(), and the cause if there is one.
func ContextError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return &contextEnd{err: ctx.Err(), cause: cause}
	}
	return ctx.Err()
}

// overError is the error of a call whose context had ended before it began. It matches the context's error alone.
type overError struct {
	of  store.Rules
	end error // the context's, with its cause
}

func (o *overError) Error() string {
	return naming("holdfast: the lock was left as it is, because the context had ended before the call", o.of) +
		": " + o.end.Error()
}

func (o *overError) Unwrap() error { return o.end }

// over makes the error of a call whose ctx had ended before it began.
func over(ctx context.Context, of store.Rules) error { return &overError{of, ContextError(ctx)} }

// unserved makes the error of a call that does not wait: the store's, and the context's if that is over.
//
// A call that does not wait for the lock has one reason to fail besides a refusal: nobody answered. If the caller's
// context ended meanwhile, that is the reason to name first, since the caller knows of it.
func (e *Engine) unserved(ctx context.Context, p store.Protocol, err error) error {
	if store.FaultOf(err) != store.FaultConflict && (ctx.Err() != nil || e.sender.Closed()) {
		return e.gaveUp(ctx, ctx, word{of: p, failure: err})
	}
	return e.unavailable(p, err)
}

// contextEnd is a context's error with the cause that was given to it: the text is the cause's, both match errors.Is.
type contextEnd struct{ err, cause error }

func (e *contextEnd) Error() string   { return e.cause.Error() }
func (e *contextEnd) Unwrap() []error { return []error{e.err, e.cause} }

func isGone(err error) bool { return errors.Is(err, watchdog.ErrGone) }

// behindGone is what an error says besides that a hold is gone, which is the reason of its loss.
func behindGone(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return store.ErrConflict
	}
	return nil
}
