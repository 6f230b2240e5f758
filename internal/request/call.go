package request

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrAbandoned is what [Call] returns whose caller left before the reply.
var ErrAbandoned = errors.New("the caller stopped waiting for the reply")

// Call runs fn, which sends one script and is bounded by its own deadline. It returns as soon as fn
// has, or ctx is done, or the Sender closes; in the last two cases with ErrAbandoned, and then late
// gets what fn returns in the end, or an error when it is over. If ctx is done before anything was sent,
// nothing is: a request that nobody waits for could take the lock from those who do.
//
// Where the store can be left in the middle of a request (Direct), fn runs on the caller's own goroutine: a free lock
// starts none. The store says that it was left, and when the request is over, and only then a
// goroutine waits for that. Elsewhere a worker runs fn from the beginning.
func Call[T any](
	s *Sender, ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) (T, error) {
	var zero T
	if ctx.Err() != nil || s.Closed() {
		return zero, store.ErrUnsent
	}
	if ctx.Done() == nil {
		return fn(ctx)
	}
	if !s.cfg.Store.Direct() {
		return fly(s, ctx, fn, late)
	}
	val, err := fn(ctx)
	if err == nil {
		return val, nil
	}
	if errors.Is(err, store.ErrUnsent) {
		return zero, err
	}
	if left := (*store.Left)(nil); errors.As(err, &left) {
		s.follow(func() {
			<-left.Settled // bounded by the command's deadline
			late(val, err)
		})
		return zero, ErrAbandoned
	}
	return val, err
}

// fly is Call for what cannot be left in the middle: a worker does it, and may be at it when the caller has left.
func fly[T any](
	s *Sender, ctx context.Context, fn func(context.Context) (T, error), late func(T, error),
) (T, error) {
	var zero T
	f := &flight[T]{landed: make(chan struct{})}
	if !s.workers.run(s, func() { f.fly(ctx, fn, late) }) {
		return zero, store.ErrUnsent
	}
	select {
	case <-f.landed:
		return f.val, f.err
	case <-ctx.Done():
	case <-s.closing:
	}
	if f.state.CompareAndSwap(waited, left) {
		return zero, ErrAbandoned
	}
	<-f.landed
	return f.val, f.err
}

// The caller and the reply race: the caller's context may end at the very moment at which the reply comes. One atomic
// state says who owns the reply. From waited it becomes taken, and the caller returns the reply, whatever became of its
// context; or it becomes left, and the worker hands the reply to late. So a hold that was granted at the
// last moment is either returned or released: never both, and never neither.
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
		<-left.Settled // as in Call
	}
	f.val, f.err = val, err
	if f.state.CompareAndSwap(waited, taken) {
		close(f.landed)
		return
	}
	late(val, err)
}

// mostParked is how many workers wait for the next request: as many as usually are under way at a time.
const mostParked = 8

// workers run requests beside their callers, for stores whose requests cannot be left in the middle. Some of them are
// parked until the next request comes. A goroutine that is new has a small stack, which is copied again and again on
// the way into a database's driver; that of a parked one has grown.
type workers struct {
	next   chan func()
	parked atomic.Int32
}

// run runs fn in a worker, which the Sender joins. It returns false if the Sender is closed.
func (w *workers) run(s *Sender, fn func()) bool {
	select {
	case w.next <- fn: // a parked worker takes it
		return true
	default:
		return s.Spawn(func() { w.work(s, fn) })
	}
}

func (w *workers) work(s *Sender, fn func()) {
	for {
		fn()
		if w.parked.Add(1) > mostParked {
			w.parked.Add(-1)
			return
		}
		select {
		case fn = <-w.next:
			w.parked.Add(-1)
		case <-s.closing:
			return
		}
	}
}
