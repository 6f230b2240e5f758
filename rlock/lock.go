package rlock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
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
type Lock struct {
	engine *engine.Engine
	proto  store.Protocol
	req    engine.Request
	err    error // a bad argument of New; told by every call
}

// New returns a handle on the reentrant lock of that name. It is cheap and sends nothing. A bad name or
// option is an *ArgumentError from every call on the handle.
func New(client *Client, name string, opts ...Option) *Lock {
	if err := client.check(); err != nil {
		return &Lock{err: err}
	}
	p, err := newPlain(client, name)
	return newLock(client, p, opts, err)
}

func (c *Client) check() error {
	if c == nil || c.engine == nil {
		return &ArgumentError{Name: "client", Problem: "must come from NewClient"}
	}
	return nil
}

// newLock makes a handle. An error of the protocol's making goes before one of the options.
func newLock(client *Client, p redisstore.Protocol, opts []Option, err error) *Lock {
	req, bad := client.request(opts)
	req.Proto = client.store.Bind(p)
	return &Lock{engine: client.engine, proto: req.Proto, req: req, err: firstError(err, bad, checkLease(req))}
}

// request is what the options ask for.
func (c *Client) request(opts []Option) (engine.Request, error) {
	o := collect(opts)
	return o.over(engine.Request{Lease: c.options.Lease, Kept: true}), o.err
}

// checkLease asks the protocol whether it takes the lease of a request.
func checkLease(req engine.Request) error {
	if check := req.Proto.Traits().CheckLease; check != nil {
		return check(req.Lease)
	}
	return nil
}

// Name is the name given to New.
func (l *Lock) Name() string {
	if l.proto == nil {
		return ""
	}
	return l.proto.Name()
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
	if err := l.check(ctx); err != nil {
		return ctx, notHeld, err
	}
	level, err := l.engine.Lock(ctx, l.req)
	return hand(ctx, level, err)
}

// TryLock makes one attempt and does not wait: if the lock is busy, the error is ErrBusy. That is known
// without asking if this process holds the lock, or if somebody who waits here was told so last. While
// Redis does not answer the error is ErrUnavailable, whoever waits. In everything else it is like Lock.
func (l *Lock) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	if err := l.check(ctx); err != nil {
		return ctx, notHeld, err
	}
	level, err := l.engine.TryLock(ctx, l.req)
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
	defer func() { err = join(err, unlock()) }()
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

func (l *Lock) check(ctx context.Context) error {
	switch {
	case l.err != nil:
		return l.err
	case l.engine == nil:
		return &ArgumentError{Name: "lock", Problem: "must come from New; its zero value is no lock"}
	case ctx == nil:
		return &ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	return nil
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
	if err := l.check(ctx); err != nil {
		return Hold{}, err
	}
	h, err := l.engine.Held(ctx, l.proto)
	return Hold(h), err
}

// WithoutHolds returns a child of ctx that carries no holds: for work that has to queue like everybody
// else. It ends with ctx, and so with unlock. Work that outlives the hold takes the context that was given
// to Lock, or context.WithoutCancel(WithoutHolds(ctx)) to keep ctx's values: context.WithoutCancel alone
// leaves the holds in.
func WithoutHolds(ctx context.Context) context.Context { return engine.WithoutHolds(ctx) }
