package contender

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// Watched is a handle that keeps the context of its hold, by which a library reports a loss.
type Watched struct {
	of   Lock
	take func(ctx context.Context) (held context.Context, err error)
	held context.Context
}

// Watch makes such a handle of a client of Ours or Rueidis: no other one tells.
func Watch(c Client, name string) *Watched {
	switch c := c.(type) {
	case *oursClient:
		l := &oursLock{lock: rlock.New(c.client, name)}
		return &Watched{of: l, take: func(ctx context.Context) (held context.Context, err error) {
			held, l.unlock, err = l.lock.Lock(ctx)
			return held, err
		}}
	case *rueidisClient:
		l := &rueidisLock{locker: c.locker, name: name}
		return &Watched{of: l, take: func(ctx context.Context) (held context.Context, err error) {
			held, l.unlock, err = c.locker.WithContext(ctx, name)
			return held, err
		}}
	}
	return nil
}

// Lock takes the lock.
func (w *Watched) Lock(ctx context.Context) (err error) {
	w.held, err = w.take(ctx)
	return err
}

// Unlock frees it.
func (w *Watched) Unlock() error { return w.of.Unlock() }

// Lost reports that what was taken is not held any more.
func (w *Watched) Lost() bool { return w.held.Err() != nil }
