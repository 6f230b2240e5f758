package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// bustle makes several goroutines of two clients lock one name, nested, and checks that no two are inside.
// Failures of Redis, which the tests cause, are counted; each goroutine must succeed often enough.
func bustle(t *testing.T, rdb redis.UniversalClient, lease time.Duration, name string, turns int) {
	t.Helper()
	var workers sync.WaitGroup
	var inside, failed atomic.Int64
	work := func(ctx context.Context) error {
		if inside.Add(1) != 1 {
			t.Error("two are inside")
		}
		time.Sleep(50 * time.Microsecond) // so that a second one inside would show
		inside.Add(-1)
		return ctx.Err()
	}
	for range 2 {
		client, _ := newClient(t, rdb, rlock.ClientOptions{Lease: lease, MaxPoll: 200 * time.Millisecond})
		lock := rlock.New(client, name)
		for range 3 {
			workers.Go(func() {
				for done := 0; done < turns && !t.Failed(); {
					err := lock.Do(within(t), func(ctx context.Context) error { return lock.Do(ctx, work) })
					switch {
					case err == nil:
						done++
					case errors.Is(err, rlock.ErrUnavailable), errors.Is(err, rlock.ErrUnconfirmed):
						failed.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
	}
	workers.Wait()
	t.Logf("%d calls had to be told that Redis is unavailable", failed.Load())
}

// Every request takes a different time, far below a command's limit, so nothing fails, no hold is lost, and
// exclusion holds.
func TestJitterCostsNoHold(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex // guards random
	random := rand.New(rand.NewPCG(seed, 0))
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	proxy.Latency(2 * time.Millisecond)
	jitter := proxy.On(func(faultproxy.Request) bool { return true }, func(x *faultproxy.Exchange) {
		mu.Lock()
		late := time.Duration(random.Int64N(int64(60 * time.Millisecond)))
		mu.Unlock()
		faultproxy.Delay(late)(x)
	}).Times(-1)
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	client, events := newClient(t, rdb, rlock.ClientOptions{Lease: 6 * time.Second})
	kept := rlock.New(client, "kept")
	ctx, unlock := held(t, kept)
	bustle(t, rdb, 6*time.Second, "jittery", 4)
	events.renewedAgain(t, 2, kept.Name())
	alive(t, kept, ctx)
	require.NoError(t, unlock())
	require.Positive(t, jitter.Fired())
	require.Empty(t, events.losses())
	require.Empty(t, events.failures(kept.Name()))
}

// A path that passes three bytes at a time is slow but works: no reply is misread because it arrives in
// pieces, and no hold is lost.
func TestAPathThatDribblesCostsNoHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	direct, _ := newClient(t, server.Client(t), rlock.ClientOptions{})
	require.NoError(t, rlock.New(direct, "scripts").Do(within(t), func(context.Context) error { return nil }))
	proxy := faultproxy.Start(t, server.Addr())
	proxy.Dribble()
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 4})
	t.Cleanup(func() { _ = rdb.Close() })
	client, events := newClient(t, rdb, rlock.ClientOptions{Lease: 9 * time.Second})
	lock := rlock.New(client, "dribbled")
	ctx, unlock := held(t, lock)
	for range 10 {
		inner, leave, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.Equal(t, 2, alive(t, lock, inner).Count)
		info, err := lock.Inspect(inner)
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		require.NoError(t, leave())
	}
	events.renewedAgain(t, 2, lock.Name())
	next := waiting(t, events, lock)
	require.NoError(t, unlock())
	require.NoError(t, arrives(t, next).unlock())
	require.Empty(t, events.losses())
	require.False(t, exists(t, server, lock.Name()))
}

// Ordinary connections are killed all the time. A call may return an error, but its effect happens once or
// not at all, no two are inside together, and a hold stays held.
func TestConnectionsKilledInALoop(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := refusalAdmin(t, server)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: 6 * time.Second})
	kept := rlock.New(client, "kept")
	ctx, unlock := held(t, kept)
	fence := alive(t, kept, ctx).Fence
	stop := make(chan struct{})
	var killer sync.WaitGroup
	var killed atomic.Int64
	killer.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(15 * time.Millisecond): // a busy machine needs some to make a connection
				n, err := admin.ClientKillByFilter(context.Background(), "TYPE", "normal", "SKIPME", "yes").Result()
				if err != nil {
					t.Error(err)
				}
				killed.Add(n)
			}
		}
	})
	bustle(t, server.Client(t), 6*time.Second, "shaken", 20)
	events.renewedAgain(t, 2, kept.Name())
	close(stop)
	killer.Wait()
	require.Positive(t, killed.Load())
	require.Equal(t, fence, alive(t, kept, ctx).Fence)
	require.NoError(t, unlock())
	require.Empty(t, events.losses())
	redistest.Eventually(t, limit/6, func() bool {
		return !exists(t, server, kept.Name()) && !exists(t, server, "shaken")
	}, "a hold is left that nobody has")
}

// Need 21: the scripts vanish before every single request, so that each call has to send its script in
// full: the life of a lock does not change.
func TestScriptsVanishBetweenAnyTwoCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	admin := server.Client(t)
	var flushed atomic.Int64
	proxy.On(func(r faultproxy.Request) bool {
		if err := admin.ScriptFlush(context.Background()).Err(); err != nil {
			t.Error(err)
		}
		flushed.Add(1)
		return false
	}, faultproxy.Pass).Times(-1)
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	for i := range 3 {
		life(t, rdb, fmt.Sprint("scriptless", i))
	}
	brought, named := proxy.Requests(faultproxy.Command("eval")), proxy.Requests(faultproxy.Command("evalsha"))
	require.Positive(t, named)
	require.Equal(t, named, brought, "every script had to be brought along")
	t.Logf("%d flushes, %d scripts", flushed.Load(), brought)
}
