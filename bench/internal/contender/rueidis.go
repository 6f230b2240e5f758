package contender

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type rueidisClient struct{ locker rueidislock.Locker }

// openRueidis takes one key for a lock, as everybody else does, and no messages about the client's own
// changes. By default it takes three keys, for a minority that may be lost. It renews as often as ours.
//
// TryNextAfter is when it gives up a request in favour of the next key, of which there is none. With its
// default of 20 ms it gives up under load what would be answered, and then waits without end for a
// message that its own key was released.
func openRueidis(t Target) (Client, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: t.Addrs[:1],
			DialCtxFn:   t.Meter.DialRueidis,
		},
		KeyMajority:    1,
		NoLoopTracking: true,
		KeyValidity:    t.lease(),
		ExtendInterval: t.lease() / 3,
		TryNextAfter:   10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &rueidisClient{locker}, nil
}

func (c *rueidisClient) Lock(names ...string) Lock {
	return &rueidisLock{locker: c.locker, name: names[0]}
}

func (c *rueidisClient) Close() error {
	c.locker.Close()
	return nil
}

type rueidisLock struct {
	locker rueidislock.Locker
	name   string
	unlock context.CancelFunc
}

func (l *rueidisLock) Lock(ctx context.Context) (err error) {
	_, l.unlock, err = l.locker.WithContext(ctx, l.name)
	return err
}

func (l *rueidisLock) TryLock(ctx context.Context) (got bool, err error) {
	_, l.unlock, err = l.locker.TryWithContext(ctx, l.name)
	return tried(err, rueidislock.ErrNotLocked)
}

func (l *rueidisLock) Unlock() error {
	l.unlock() // returns when the key was deleted, and does not tell whether it was
	return nil
}
