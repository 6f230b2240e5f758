package contender

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type redsyncClient struct {
	rdbs     []*redis.Client
	sync     *redsync.Redsync
	lease    time.Duration
	failFast bool
}

func openRedsync(failFast bool) Opener {
	return func(t Target) (Client, error) {
		c := &redsyncClient{lease: t.lease(), failFast: failFast}
		var pools []syncredis.Pool
		for _, addr := range t.Addrs {
			rdb := t.connect(addr)
			c.rdbs = append(c.rdbs, rdb)
			pools = append(pools, goredis.NewPool(rdb))
		}
		c.sync = redsync.New(pools...)
		return c, nil
	}
}

// Lock makes a mutex with the library's own pauses between attempts. The number of those is raised from
// 32, with which a busy lock fails after a few seconds.
func (c *redsyncClient) Lock(names ...string) Lock {
	return &redsyncLock{mutex: c.sync.NewMutex(names[0], redsync.WithExpiry(c.lease),
		redsync.WithTries(math.MaxInt32), redsync.WithFailFast(c.failFast))}
}

func (c *redsyncClient) Close() error {
	var errs []error
	for _, rdb := range c.rdbs {
		errs = append(errs, rdb.Close())
	}
	return errors.Join(errs...)
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (l *redsyncLock) Lock(ctx context.Context) error { return l.mutex.LockContext(ctx) }

func (l *redsyncLock) TryLock(ctx context.Context) (bool, error) {
	err := l.mutex.TryLockContext(ctx)
	if _, taken := errors.AsType[*redsync.ErrTaken](err); taken {
		return false, nil
	}
	return err == nil, err
}

func (l *redsyncLock) Unlock() error {
	ok, err := l.mutex.Unlock()
	if err == nil && !ok {
		err = errors.New("not unlocked")
	}
	return err
}
