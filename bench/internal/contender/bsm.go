package contender

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// bsmPoll is the pause between two attempts. The library has no default: without a strategy it does not
// wait at all. Its own examples take 100 ms; 10 ms is what is kind to its latencies.
const bsmPoll = 10 * time.Millisecond

type bsmClient struct {
	rdb    *redis.Client
	locker *redislock.Client
	lease  time.Duration
}

func openBsm(t Target) (Client, error) {
	rdb := t.connect(t.Addrs[0])
	return &bsmClient{rdb: rdb, locker: redislock.New(rdb), lease: t.lease()}, nil
}

func (c *bsmClient) Lock(names ...string) Lock { return &bsmLock{client: c, names: names} }

func (c *bsmClient) Close() error { return c.rdb.Close() }

type bsmLock struct {
	client *bsmClient
	names  []string
	held   *redislock.Lock
}

func (l *bsmLock) Lock(ctx context.Context) (err error) {
	l.held, err = l.client.locker.ObtainMulti(ctx, l.names, l.client.lease, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(bsmPoll),
	})
	return err
}

func (l *bsmLock) TryLock(ctx context.Context) (got bool, err error) {
	l.held, err = l.client.locker.ObtainMulti(ctx, l.names, l.client.lease, nil)
	return tried(err, redislock.ErrNotObtained)
}

func (l *bsmLock) Unlock() error { return l.held.Release(context.Background()) }
