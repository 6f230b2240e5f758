//go:build unix && !aix

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// lockable is a lock of any kind, as run takes it.
type lockable struct {
	take   func(ctx context.Context) (held context.Context, unlock func() error, err error)
	held   func(ctx context.Context) (rlock.Hold, error)
	look   func(ctx context.Context) (rlock.Info, error)
	sides  []side // in which its name can be held
	room   int64  // how many can hold it at once; a reader counts as if alone, since a writer may wait between two
	fences bool   // its holds have fencing tokens
}

// lockable makes the lock that the flags ask for.
func (f *runFlags) lockable(c *rlock.Client, name string) (lockable, error) {
	var opts []rlock.Option
	if f.wait > 0 {
		opts = append(opts, rlock.MaxWait(f.wait))
	}
	if f.minHolds {
		opts = append(opts, rlock.MinHold(f.minHold))
	}
	n, err := f.permits()
	if n > 0 || err != nil {
		return f.semaphore(semaphore.New(c, name, opts...), n), err
	}
	var l *rlock.Lock
	rw := rwlock.New(c, name, opts...)
	var sides []side
	switch f.kind {
	case "rlock":
		l = rlock.New(c, name, opts...)
	case "fair":
		l = fairlock.New(c, name, opts...)
	case "read":
		l, sides = rw.Read(), []side{{rw.Write().Inspect, true}}
	case "write":
		l, sides = rw.Write(), []side{{rw.Read().Inspect, false}}
	default:
		return lockable{}, usageError{fmt.Errorf("--kind must be rlock, fair, read, write or sem:N, not %q", f.kind)}
	}
	take := l.Lock
	if f.noWait {
		take = l.TryLock
	}
	return lockable{
		take: take, held: l.Held, look: l.Inspect, sides: append(sides, side{l.Inspect, true}), room: 1, fences: true,
	}, nil
}

// semaphore takes one of n permits. The number is absolute: every run under it sets it, and the last one's counts.
func (f *runFlags) semaphore(s *semaphore.Semaphore, n int64) lockable {
	take := s.Acquire
	if f.noWait {
		take = s.TryAcquire
	}
	return lockable{
		take: func(ctx context.Context) (context.Context, func() error, error) {
			if err := s.SetCapacity(ctx, n); err != nil {
				return ctx, nil, err
			}
			return take(ctx, 1)
		},
		held: s.Held, look: s.Inspect, sides: []side{{s.Inspect, true}}, room: n,
	}
}

// hold is the hold that a command runs under.
type hold struct {
	lockable
	ctx context.Context
}

// ValidUntil is the instant from which on somebody else may be granted the lock.
func (h hold) ValidUntil() (time.Time, error) {
	now, err := h.held(h.ctx)
	return now.ValidUntil, err
}

// Done is closed when the hold is over.
func (h hold) Done() <-chan struct{} { return h.ctx.Done() }
