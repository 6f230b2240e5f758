package lock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/hold"
)

// Locker is what every lock of this module does, in types of the standard library. Where you need a double, declare
// an interface with the methods that you use.
type Locker interface {
	Lock(ctx context.Context) (held context.Context, unlock func() error, err error)
	TryLock(ctx context.Context) (held context.Context, unlock func() error, err error)
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// Provider makes handles on locks by their names. The client of every store is one: *rlock.Client and *redlock.Client
// on Redis, *pglock.Client on PostgreSQL, *etcdlock.Client on etcd, *zklock.Client on ZooKeeper. So a program chooses
// its store where it makes the client, and the rest of it knows names and this interface. What a store lacks, its
// client's Lock refuses by an *ArgumentError of the first call.
type Provider interface {
	Lock(name string, opts ...Option) *Lock
}

var _ Locker = (*Lock)(nil)

// Lock is a handle on a named lock. The handle itself holds nothing: the context that its method Lock returns does.
// All methods are safe for concurrent use. Handles of one client with the same name are the same lock.
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
// What Lock does depends on ctx. If ctx is done, Lock sends nothing and returns an error that matches ctx.Err() and the
// cause; the cause of a context that Lock returned is ErrReleased after its unlock, a *LostError, or ErrClosed. If ctx
// carries a live hold of this lock, Lock re-enters at once: it adds a level and asks nothing of the store, and the hold
// keeps the lease of its outermost Lock (NonReentrant makes that an error). If ctx carries a hold that was lost and not
// yet unlocked, Lock returns the *LostError. Otherwise Lock queues, first in, first out inside this process, until ctx
// ends or MaxWait elapses. Without either limit it waits as long as the lock is busy, and gives up with ErrUnavailable
// once the store has not answered for a whole lease.
//
// The returned context is a child of ctx. It carries the hold, and ends when the hold ends: with a *LostError if the
// hold is lost, before the store can grant the lock to anybody else; with ErrReleased after unlock; with ErrClosed
// after Close. The end of ctx ends the returned context but not the hold, which is renewed until unlock, because
// cleaning up after a cancellation needs the exclusion as well.
//
// Unlock ends this level, and with the last level the lock is released; a second call returns ErrNotHeld. It needs no
// context, works from any goroutine and after every context ended, and returns within ReleaseTimeout: nil; a
// *LostError if the hold was lost meanwhile; or a *ReleaseError, which matches ErrUnconfirmed, if the hold was valid to
// its end and the store has not confirmed the release, which then goes on in the background. It costs a round trip,
// unless the lock passes to another caller of this process, or stays here for a while: see Keep. A deferred unlock must
// store its error in a named result; without one, the error is lost.
//
// On error, Lock returns the context that it was given, and an unlock that only returns ErrNotHeld. A nil error means
// that the lock is held; after any error the call holds nothing, and what it may have left is taken away. The error
// matches ErrBusy or ErrUnavailable, and ctx.Err() if the end of ctx ended the wait.
func (l *Lock) Lock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return ctx, notHeld, err
	}
	level, err := parts.Engine.Lock(ctx, handle.Placed(&parts.Request))
	return hand(ctx, level, err)
}

// TryLock makes one attempt and does not wait: if the lock is busy, the error is ErrBusy. TryLock asks nothing
// of the store if this process holds the lock, or if the last answer to a waiter of this process was "busy". While the
// store does not answer, the error is ErrUnavailable, whether or not others wait, after the time of one request at
// most: a sixth of the lease, or 3 s if that is shorter. Otherwise it is like Lock.
func (l *Lock) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return ctx, notHeld, err
	}
	level, err := parts.Engine.TryLock(ctx, handle.Placed(&parts.Request))
	return hand(ctx, level, err)
}

// Do calls fn with the lock held, and passes it the context that carries the hold. The lock is released when fn
// returns or panics. The error is a *WorkError if fn was called: it has what fn returned and what unlock returned, and
// matches both, but ErrUnconfirmed only if fn returned nil. Any other error is Lock's, and fn was not called.
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return &ArgumentError{Name: "fn", Problem: "must not be nil"}
	}
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = Join(err, unlock()) }()
	return fn(held)
}

func notHeld() error { return ErrNotHeld }

// hand converts the engine's result into Lock's.
func hand(
	ctx context.Context, level *hold.Level, err error,
) (held context.Context, unlock func() error, failed error) {
	if err != nil {
		return ctx, notHeld, err
	}
	return level, func() error { return engine.Unlock(level) }, nil
}

// open returns the parts of the handle, or an error if the handle or ctx is invalid.
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

// Hold is what this process knows of a live hold, without asking the store.
type Hold struct {
	ID         string    // in the store; holds of this process under one grant share it: turns, and readers
	Fence      int64     // fencing token: greater than that of every earlier hold; of readers, see package rwlock
	Count      int       // levels; the count in the store, and so Inspect, follows some milliseconds later
	ValidUntil time.Time // from this instant on treat the hold as lost
}

// Held returns the live hold of this lock that ctx carries. It sends nothing. With it a function asserts that its
// caller holds the lock, a write gets its fencing token, and a process that was stopped finds out, by ValidUntil,
// that its hold is over. Without a hold the error is ErrNotHeld; after a loss it is the *LostError.
func (l *Lock) Held(ctx context.Context) (Hold, error) {
	parts, err := l.open(ctx)
	if err != nil {
		return Hold{}, err
	}
	h, err := parts.Engine.Held(ctx, parts.Request.Proto)
	return Hold(h), err
}

// Wanted returns a channel that is closed when another caller, of this process or of another one, waits for the lock
// that ctx holds. A long job looks at it at moments at which it can stop, and unlocks: nothing ends its hold. It sends
// nothing.
//
// It is a best effort. Another process of this module says that it waits when it finds the lock busy, and again with
// every poll (ClientOptions.MaxPoll); its TryLock counts too. A message can be lost, and Redisson's clients send none.
// The lock must have been taken by a handle with Yields or Keep: otherwise the error is an *ArgumentError. Without a
// hold it is ErrNotHeld, and after a loss the *LostError.
func (l *Lock) Wanted(ctx context.Context) (<-chan struct{}, error) {
	parts, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := parts.Engine.Wanted(ctx, parts.Request.Proto)
	if err == nil && wanted == nil {
		err = &ArgumentError{Name: "lock", Value: parts.Request.Proto.Name(),
			Problem: "must be held by a handle with the option Yields or Keep"}
	}
	return wanted, err
}

// WithoutHolds returns a child of ctx that carries no holds, for work that must queue like any other caller. It ends
// with ctx, and so with unlock. For work that outlives the hold use the context that was given to Lock, or
// context.WithoutCancel(WithoutHolds(ctx)) to keep ctx's values: context.WithoutCancel alone keeps the holds too.
func WithoutHolds(ctx context.Context) context.Context { return hold.Without(ctx) }
