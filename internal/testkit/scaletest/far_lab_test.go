package scaletest_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// farLab is a simulated Redis and a client that is a round trip away from it. Neither takes any time for what
// it does, so that all that takes time is the way.
type farLab struct {
	server *simredis.Server
	client *rlock.Client
}

// farAway runs a test in virtual time.
func farAway(t *testing.T, trip time.Duration, opts rlock.ClientOptions, test func(t *testing.T, lab *farLab)) {
	t.Helper()
	embedded.Fits(t)
	synctest.Test(t, func(t *testing.T) {
		lab := &farLab{server: simredis.New(t)}
		far := lab.server.FarOptions(trip)
		far.PoolSize = 20
		rdb := redis.NewClient(far)
		opts.Logger = slog.New(slog.DiscardHandler)
		client, err := rlock.NewClient(rdb, &opts)
		require.NoError(t, err)
		lab.client = client
		defer func() {
			require.NoError(t, client.Close())
			require.NoError(t, rdb.Close())
		}()
		test(t, lab)
	})
}

// teach has the server know the scripts of a nested lock.
func (lab *farLab) teach(t *testing.T) {
	lock := rlock.New(lab.client, "teach")
	outer := take(t, context.Background(), lock)
	inner := rlock.New(lab.client, "teach", rlock.FixedLease(time.Hour))
	require.NoError(t, take(t, outer.ctx, inner).unlock())
	require.NoError(t, outer.unlock())
}

// crowd is callers that lock and unlock, each a name of its own, as fast as they can.
type crowd struct {
	locked, refused, kept atomic.Int64 // turns; errors of Lock, and of unlock
	running               sync.WaitGroup
	end                   context.CancelFunc
}

func (lab *farLab) crowd(kind string, callers int, opts ...rlock.Option) *crowd {
	ctx, end := context.WithCancel(context.Background())
	c := &crowd{end: end}
	for i := range callers {
		lock := rlock.New(lab.client, fmt.Sprint(kind, i), opts...)
		c.running.Go(func() {
			for ctx.Err() == nil {
				_, unlock, err := lock.TryLock(context.Background())
				if err != nil {
					c.refused.Add(1)
					time.Sleep(10 * time.Millisecond)
				} else if unlock() != nil {
					c.kept.Add(1)
				} else {
					c.locked.Add(1)
				}
			}
		})
	}
	return c
}

// rate is how many turns a second there are from now on.
func (c *crowd) rate(during time.Duration) float64 {
	before := c.locked.Load()
	time.Sleep(during)
	return float64(c.locked.Load()-before) / during.Seconds()
}

func (c *crowd) leaves() {
	c.end()
	c.running.Wait()
}
