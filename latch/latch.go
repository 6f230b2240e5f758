package latch

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

// Latch is a handle on a named count that callers wait for to reach zero. All methods are safe for concurrent use,
// and handles of one client with the same name are the same latch.
type Latch struct {
	gate   gate
	client *redisclient.Client
	core   redisclient.Core
	err    error // a bad argument of New; returned by every call
}

// New returns a handle on the latch of that name. It is cheap and sends nothing. With an invalid name every call on
// the handle returns an *rlock.ArgumentError; on a cluster a name with braces is invalid too, because Redisson's
// channel for it is in another slot.
func New(client *rlock.Client, name string) *Latch {
	l := &Latch{client: (*redisclient.Client)(client)}
	l.gate.name = name
	if l.core, l.err = l.client.Core(); l.err != nil {
		return l
	}
	l.gate.store = l.core.Store
	if l.gate.key, l.err = l.core.Key(name); l.err != nil {
		return l
	}
	// Redisson adds these braces itself, whatever the key contains.
	l.gate.channel = "redisson_countdownlatch__channel__{" + l.gate.key + "}"
	if l.core.Cluster && !keys.SameSlot(l.gate.key, l.gate.channel, l.gate.requests()) {
		l.err = &rlock.ArgumentError{
			Name: "name", Value: fmt.Sprintf("%q", l.gate.key), Problem: "must have no braces on a cluster, " +
				"because Redisson's channel of such a latch falls into another slot",
		}
	}
	return l
}

// Name is the name given to New.
func (l *Latch) Name() string {
	if l == nil {
		return ""
	}
	return l.gate.name
}

// Set starts a count of n, which must be positive: from now on Wait waits. If a count is running already, the error
// is rlock.ErrBusy and nothing changes.
func (l *Latch) Set(ctx context.Context, n int64) error { return l.set(ctx, n, 0) }

// SetFor starts a count like [Latch.Set], which ends by itself after life, so that it stays neither in Redis nor in
// the way of others if a process dies before its CountDown. Its end opens the latch as Delete does: Wait returns nil
// then, at once, though not all was done. Life is at least 100 ms and at most a year.
func (l *Latch) SetFor(ctx context.Context, n int64, life time.Duration) error {
	was := life
	if problem := handle.RoundTime(&life, handle.MinLease); problem != "" {
		return &rlock.ArgumentError{Name: "life", Value: was, Problem: problem}
	}
	return l.set(ctx, n, life)
}

func (l *Latch) set(ctx context.Context, n int64, life time.Duration) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	if n < 1 || n > luacall.MaxCount {
		return &rlock.ArgumentError{
			Name: "n", Value: n, Problem: fmt.Sprintf("must be between 1 and %d", int64(luacall.MaxCount)),
		}
	}
	reply, err := l.change(ctx, store.Change{Verb: store.Set, N: n, Life: life})
	if err == nil && reply.Status == luacall.Busy {
		return &busyError{l.gate.name, reply.Value}
	}
	return err
}

// busyError is the error of a Set while a count is running.
type busyError struct {
	name  string
	count int64
}

func (e *busyError) Error() string {
	return fmt.Sprintf("holdfast: latch %q is already counting down: %d left", e.name, e.count)
}

func (*busyError) Unwrap() error { return rlock.ErrBusy }

// CountDown takes one off the count, and opens the latch with the last one. If no count is running, it does nothing.
// It counts once, even if its request is sent again. If the error matches rlock.ErrUnavailable, or ctx ended, it is
// unknown whether CountDown counted.
func (l *Latch) CountDown(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	_, err := l.change(ctx, store.Change{Verb: store.Down})
	return err
}

// Count returns the remaining count: 0 if the latch is open.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	if err := l.check(ctx); err != nil {
		return 0, err
	}
	reply, err := l.change(ctx, store.Change{Verb: store.Look})
	return max(reply.Value, 0), err
}

// Wait returns when the latch is open: when the count has reached zero, was deleted, or was never started. A message
// wakes it, and it asks again every ClientOptions.MaxPoll in case a message was lost. An error that matches
// rlock.ErrBusy says that a count was still running when ctx ended.
func (l *Latch) Wait(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	req, err := l.client.Request(nil)
	if err != nil {
		return err
	}
	req.Proto, req.Looks, req.MaxWait = l.core.Store.Bind(&l.gate), true, 0
	return l.core.Engine.Take(ctx, req)
}

// Delete ends the count, however much is left of it, and so opens the latch, also for Redisson's waiters, which
// Redisson's own deletion leaves waiting. If no count is running, it does nothing.
func (l *Latch) Delete(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	_, err := l.change(ctx, store.Change{Verb: store.Delete})
	return err
}

// change has the store carry out a change, which counts once.
func (l *Latch) change(ctx context.Context, what store.Change) (store.ChangeReply, error) {
	return l.core.Engine.Change(ctx, l.core.Store.Bind(&l.gate), what)
}

func (l *Latch) check(ctx context.Context) error {
	switch {
	case l != nil && l.err != nil:
		return l.err
	case l == nil || l.core.Engine == nil:
		return &rlock.ArgumentError{Name: "latch", Problem: "must come from New; its zero value is none"}
	case ctx == nil:
		return &rlock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	return nil
}
