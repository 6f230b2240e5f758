package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/pipeline"
)

// within is a context for one exchange, with a deadline that no other has.
func within(ctx context.Context, limit time.Duration) context.Context {
	return links.Within(ctx, limit)
}

var (
	errAbandoned = errors.New("the caller stopped waiting for the reply")
	errUnsent    = errors.New("the context is over or the client closed; nothing was sent")
)

// call runs fn, which sends one script and is bounded by its own deadline. It returns as soon as fn
// has, or ctx is done, or the engine closes; in the last two cases with errAbandoned, and then late
// gets what fn returns in the end, or an error when it is over. If ctx is done before anything was sent,
// nothing is: a request that nobody waits for could take the lock from those who do.
func call[T any](
	e *Engine, ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) (T, error) {
	var zero T
	if ctx.Err() != nil || e.isClosed() {
		return zero, errUnsent
	}
	if ctx.Done() == nil {
		return fn(ctx)
	}
	if !e.direct() {
		return fly(e, ctx, fn, late)
	}
	val, err := fn(ctx)
	if err == nil {
		return val, nil
	}
	if errors.Is(err, pipeline.ErrUnsent) {
		return zero, errUnsent
	}
	if left := (*pipeline.Left)(nil); errors.As(err, &left) {
		e.follow(func() {
			<-left.Settled // bounded by the command's deadline
			late(val, err)
		})
		return zero, errAbandoned
	}
	return val, err
}

// direct reports whether all that a call sends goes through the pipe, which lets it return when its context
// ends. It does not where a call sends several things, or by other ways.
func (e *Engine) direct() bool {
	return e.cfg.MinReplicas == 0 && e.cfg.Links.Known()
}

// fly is call for what cannot be left in the middle: it is done in a goroutine, which may outlast it.
func fly[T any](
	e *Engine, ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) (T, error) {
	var zero T
	f := &flight[T]{landed: make(chan struct{})}
	if !e.spawn(func() { f.fly(ctx, fn, late) }) {
		return zero, errUnsent
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
	if left := (*pipeline.Left)(nil); errors.As(err, &left) {
		<-left.Settled // as in call
	}
	f.val, f.err = val, err
	if f.state.CompareAndSwap(waited, taken) {
		close(f.landed)
		return
	}
	late(val, err)
}

// knowKind makes sure that, on a cluster, it is known how releases are published, and where every slot
// is: who acquires has to be able to release in a way that others hear, and to renew though the node
// that would be asked for the slots first does not answer by then.
func (e *Engine) knowKind(ctx context.Context, limit time.Duration) error {
	if !e.cfg.Links.Cluster() {
		return nil
	}
	if _, err := e.cfg.Links.Sharded(within(ctx, limit)); err != nil {
		return err
	}
	return e.cfg.Links.Ready(within(ctx, limit))
}

// Sharded reports whether messages are published by SPUBLISH. It is known once a call of the engine was
// made.
func (e *Engine) Sharded() bool { return e.sharded() }

// sharded is the kind of publication, once knowKind has learned it.
func (e *Engine) sharded() bool {
	if !e.cfg.Links.Cluster() {
		return false
	}
	sharded, err := e.cfg.Links.Sharded(within(background, 0))
	return err == nil && sharded
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
