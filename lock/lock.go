package lock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
)

// Locker is what every lock of this module does, in types of the standard library: declare your own
// part of it where you need a double.
type Locker interface {
	Lock(ctx context.Context) (held context.Context, unlock func() error, err error)
	TryLock(ctx context.Context) (held context.Context, unlock func() error, err error)
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

var _ Locker = (*Lock)(nil)

// Lock is a handle on a named lock. It holds nothing itself: the context that its method Lock returns
// does. All methods are safe for concurrent use, and handles of one client with one name are the same
// lock.
type Lock handle.Lock

// Name is the name given to New.
func (l *Lock) Name() string {
	proto := (*handle.Lock)(l).Parts().Request.Proto
	if proto == nil {
		return ""
	}
	return proto.Name()
}

// Lock waits until the lock is held and returns the hold as a context.
//
// What it does depends on ctx. If ctx is done, its cause is returned and nothing is sent: that of a
// context that Lock returned is ErrReleased after its unlock, a *LostError or ErrClosed. If ctx
// carries a live hold of this lock, Lock re-enters: one more level, at once, and without asking Redis unless
// this level wants a longer lease or one of its own ([FixedLease]). If it carries one that was lost and not
// unlocked, the *LostError is returned. Otherwise Lock waits in line, first in, first out inside this process,
// until ctx ends or MaxWait is over; without either it waits for ever while the lock is busy, and gives up with
// ErrUnavailable when Redis has not answered for a whole lease.
//
// The returned context is a child of ctx. It carries the hold, and ends when the hold ends: with a
// *LostError if it is lost, before Redis can give the lock to anybody else; with ErrReleased after
// unlock; with ErrClosed. The end of ctx ends it too, but not the hold, which is renewed until unlock,
// since cleaning up after a cancellation needs the exclusion as well.
//
// Unlock frees this level, once, and with the last level the lock; a second call returns ErrNotHeld. It
// needs no context, works from any goroutine and after every context ended, and returns within
// ReleaseTimeout: nil, a *LostError if the hold was lost meanwhile, or ErrUnavailable if Redis could
// not be told, which then is done in the background. A deferred unlock has to add its error to a
// result that has a name: in a function whose results have none it comes too late.
//
// On error the context is the one that was given, and unlock does nothing but return ErrNotHeld. A nil
// error means that the lock is held; with any error nothing is left behind. The error matches ErrBusy
// or ErrUnavailable, and ctx.Err() if it was ctx that ended the wait.
func (l *Lock) Lock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return ctx, notHeld, err
	}
	level, err := parts.Engine.Lock(ctx, parts.Request)
	return hand(ctx, level, err)
}

// TryLock makes one attempt and does not wait: if the lock is busy, the error is ErrBusy. That is known
// without asking if this process holds the lock, or if somebody who waits here was told so last. While
// Redis does not answer the error is ErrUnavailable, whoever waits. In everything else it is like Lock.
func (l *Lock) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return ctx, notHeld, err
	}
	level, err := parts.Engine.TryLock(ctx, parts.Request)
	return hand(ctx, level, err)
}

// Do calls fn with the lock held, and with the context that carries it. The lock is released when fn
// returns or panics. The error is Lock's, or fn's and unlock's in one.
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return &ArgumentError{Name: "fn", Problem: "must not be nil"}
	}
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = handle.Join(err, unlock()) }()
	return fn(held)
}

func notHeld() error { return ErrNotHeld }

// hand turns what the engine returns into what Lock returns.
func hand(
	ctx context.Context, level *engine.Level, err error,
) (held context.Context, unlock func() error, failed error) {
	if err != nil {
		return ctx, notHeld, err
	}
	return level, level.Unlock, nil
}

// open returns what the handle is made of, if it is a lock and ctx a context.
func (l *Lock) open(ctx context.Context) (*handle.Parts, error) {
	parts := (*handle.Lock)(l).Parts()
	switch {
	case parts.Err != nil:
		return nil, parts.Err
	case parts.Engine == nil:
		return nil, &ArgumentError{Name: "lock", Problem: handle.NoLock}
	case ctx == nil:
		return nil, &ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	return parts, nil
}

// Hold is what this process knows of a live hold, without asking Redis.
type Hold struct {
	ID         string    // in Redis; turns of this process that follow one another without a request share it
	Fence      int64     // fencing token: greater than that of every earlier hold of the name
	Count      int       // levels; Redis, and so Inspect, has it some milliseconds later
	ValidUntil time.Time // believe in it no longer than this
}

// Held returns the live hold of this lock that ctx carries. It sends nothing. It is how a function
// asserts that its caller holds the lock, how a write gets its fencing token, and, by ValidUntil, how
// a process that was stopped learns that it has nothing any more. Without a hold the error is
// ErrNotHeld, after a loss it is the *LostError.
func (l *Lock) Held(ctx context.Context) (Hold, error) {
	parts, err := l.open(ctx)
	if err != nil {
		return Hold{}, err
	}
	h, err := parts.Engine.Held(ctx, parts.Request.Proto)
	return Hold(h), err
}

// WithoutHolds returns a child of ctx that carries no holds: for work that has to queue like everybody
// else. It ends with ctx, and so with unlock. Work that outlives the hold takes the context that was given
// to Lock, or context.WithoutCancel(WithoutHolds(ctx)) to keep ctx's values: context.WithoutCancel alone
// leaves the holds in.
func WithoutHolds(ctx context.Context) context.Context { return engine.WithoutHolds(ctx) }
