package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

// within is a context for one exchange, with a deadline that no other has.
func (e *Engine) within(ctx context.Context, limit time.Duration) context.Context {
	return e.store.Within(ctx, limit)
}

var errAbandoned = errors.New("the caller stopped waiting for the reply")

// call runs fn, which sends one script and is bounded by its own deadline. It returns as soon as fn
// has, or ctx is done, or the engine closes; in the last two cases with errAbandoned, and then late
// gets what fn returns in the end, or an error when it is over. If ctx is done before anything was sent,
// nothing is: a request that nobody waits for could take the lock from those who do.
func call[T any](
	e *Engine, ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) (T, error) {
	var zero T
	if ctx.Err() != nil || e.isClosed() {
		return zero, store.ErrUnsent
	}
	if ctx.Done() == nil {
		return fn(ctx)
	}
	if !e.store.Direct() {
		return fly(e, ctx, fn, late)
	}
	val, err := fn(ctx)
	if err == nil {
		return val, nil
	}
	if errors.Is(err, store.ErrUnsent) {
		return zero, err
	}
	if left := (*store.Left)(nil); errors.As(err, &left) {
		e.follow(func() {
			<-left.Settled // bounded by the command's deadline
			late(val, err)
		})
		return zero, errAbandoned
	}
	return val, err
}

// fly is call for what cannot be left in the middle: it is done in a goroutine, which may outlast it.
func fly[T any](
	e *Engine, ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) (T, error) {
	var zero T
	f := &flight[T]{landed: make(chan struct{})}
	if !e.spawn(func() { f.fly(ctx, fn, late) }) {
		return zero, store.ErrUnsent
	}
	select {
	case <-f.landed:
		return f.val, f.err
	case <-ctx.Done():
	case <-e.closing:
	}
	if f.state.CompareAndSwap(waited, left) {
		return zero, errAbandoned
	}
	<-f.landed
	return f.val, f.err
}

const (
	waited int32 = iota // somebody waits for the reply
	left                // nobody does any more
	taken               // the reply is there, and is the waiter's
)

type flight[T any] struct {
	state  atomic.Int32
	landed chan struct{}
	val    T
	err    error
}

func (f *flight[T]) fly(
	ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) {
	val, err := fn(ctx)
	if left := (*store.Left)(nil); errors.As(err, &left) {
		<-left.Settled // as in call
	}
	f.val, f.err = val, err
	if f.state.CompareAndSwap(waited, taken) {
		close(f.landed)
		return
	}
	late(val, err)
}

// ready makes sure that what is taken can be released such that others hear of it, and renewed.
func (e *Engine) ready(ctx context.Context, limit time.Duration) error {
	return e.store.Ready(ctx, limit)
}

// exchange sends one request for a key by way of the crash points before and after it.
func exchange(x crash.Exchange, send func() error) error {
	if err := crash.At(x.Send); err != nil {
		return err
	}
	err := send()
	if lost := crash.At(x.Reply); lost != nil {
		return lost
	}
	return err
}

// pause sleeps for d; it reports false if ctx or the engine ended first.
func (e *Engine) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-e.closing:
	}
	return false
}
