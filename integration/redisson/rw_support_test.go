package redisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// rwGo is a client of this process, and what it does with read-write locks.
type rwGo struct{ *goSide }

func (g rwGo) both(name string) *rwlock.Lock { return rwlock.New(g.client, name) }

func (g rwGo) read(name string) outcome {
	g.t.Helper()
	return g.take(g.both(name).Read(), context.Background())
}

func (g rwGo) write(name string) outcome {
	g.t.Helper()
	return g.take(g.both(name).Write(), context.Background())
}

// take takes a lock that is free.
func (g rwGo) take(lock *rlock.Lock, ctx context.Context) outcome {
	g.t.Helper()
	ctx, unlock, err := lock.TryLock(ctx)
	require.NoError(g.t, err)
	return outcome{ctx, unlock, nil}
}

func (g rwGo) isBusy(lock *rlock.Lock) {
	g.t.Helper()
	_, _, err := lock.TryLock(context.Background())
	require.ErrorIs(g.t, err, rlock.ErrBusy)
}

// waitFor starts a Lock, and returns once it waits and the name's channel has a subscriber.
func (g rwGo) waitFor(lock *rlock.Lock) <-chan outcome {
	g.t.Helper()
	before := g.client.Stats().Waiters
	c := make(chan outcome, 1)
	go func() {
		held, unlock, err := lock.Lock(context.Background())
		c <- outcome{held, unlock, err}
	}()
	redistest.Eventually(g.t, limit, func() bool { return g.client.Stats().Waiters > before }, "the call does not wait")
	channel := keys.Prefix("redisson_rwlock", lock.Name())
	redistest.Eventually(g.t, limit, func() bool {
		for _, s := range g.servers {
			for _, c := range s.PubSubChannels(g.t) {
				if c == channel {
					return true
				}
			}
		}
		return false
	}, "nobody listens on "+channel)
	return c
}

func (o outcome) frees(t *testing.T) {
	t.Helper()
	require.NoError(t, o.unlock())
}

// rwOne is one, with a side that reads and writes.
func rwOne(t *testing.T, jopts javaOptions, gopts rlock.ClientOptions) (*redis.Client, *java, rwGo) {
	t.Helper()
	server, j, g := one(t, jopts, gopts)
	return server.Client(t), j, rwGo{g}
}

func (g rwGo) another(opts rlock.ClientOptions) rwGo {
	g.t.Helper()
	return rwGo{newGo(g.t, g.servers[0].Client(g.t), opts, g.servers...)}
}

// holdKeys are the hold keys of a name's readers, and the rest of their leases.
func holdKeys(t *testing.T, rdb *redis.Client, name string) map[string]time.Duration {
	t.Helper()
	found := make(map[string]time.Duration)
	for _, key := range rdb.Keys(t.Context(), "{"+name+"}:*:rwlock_timeout:*").Val() {
		found[key] = rdb.PTTL(t.Context(), key).Val()
	}
	return found
}
