package scaletest_test

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/scaletest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 5; the goals in figures, on a moderate scale: thousands of locks are kept by a handful of
// goroutines, in few calls, and cost little memory.
func TestThousandsOfLocksAreKeptTogether(t *testing.T) {
	t.Run("calls", keptInFewCalls)
	t.Run("memory", keptInLittleMemory)
}

// In every third of the lease all locks are renewed, each call being for as many as one script takes. They are renewed
// once more as the client begins to listen to breaks, one of which it may have missed.
func keptInFewCalls(t *testing.T) {
	const (
		locks   = 1_000
		period  = 10 * time.Second
		periods = 6
		batch   = 256
	)
	inBubble(t, rlock.ClientOptions{Lease: 3 * period}, func(t *testing.T, sim *simredis.Server, client *rlock.Client) {
		var renewals atomic.Int64
		sim.SetFault(func(_ int, args []string) simredis.Verdict {
			if len(args) > 1 && args[1] == luacall.SHA("renew") {
				renewals.Add(1)
			}
			return simredis.Pass
		})
		locked := scaletest.NewLocks(client, locks)
		require.NoError(t, locked.Lock())
		time.Sleep(periods*period + period/2)
		require.Equal(t, locks, locked.Alive())
		const calls = (locks + batch - 1) / batch // for all locks
		require.GreaterOrEqual(t, int(renewals.Load()), periods*calls)
		require.LessOrEqual(t, int(renewals.Load()), (2+periods)*calls, "what is hurried may be divided among more calls")
		require.NoError(t, locked.Unlock())
		for _, key := range sim.Miniredis().Keys() {
			require.Contains(t, key, "redisson_lock_token:")
		}
	})
}

// It runs alone, since it counts goroutines and the heap.
func keptInLittleMemory(t *testing.T) {
	const locks = 5_000
	client := newClient(t, redistest.Start(t).Addr(), rlock.ClientOptions{Lease: time.Hour})
	locked := scaletest.NewLocks(client, locks)
	warm := take(t, t.Context(), rlock.New(client, "warm"))
	require.NoError(t, warm.unlock())
	goroutines, heap := runtime.NumGoroutine(), scaletest.Heap()
	require.NoError(t, locked.Lock())
	perLock := float64(scaletest.Heap()-heap) / locks
	grown := runtime.NumGoroutine() - goroutines
	t.Logf("%d locks: %.0f B each, and %d goroutines for all", locks, perLock, grown)
	require.Less(t, perLock, 1500.0)
	require.Less(t, grown, 200, "the pool's connections have some each; the locks have none")
	require.NoError(t, locked.Unlock())
}

// G9, bug 21: every command takes half a second, and five thousand locks are to be kept. They are
// renewed in batches, so that none is lost.
func TestSlowRedisLosesNoneOfThousandsOfLocks(t *testing.T) {
	t.Parallel()
	const locks = 5_000
	var lost []error
	opts := rlock.ClientOptions{Observer: &rlock.Observer{
		Lost: func(err *rlock.LostError) { lost = append(lost, err) },
	}}
	inBubble(t, opts, func(t *testing.T, sim *simredis.Server, client *rlock.Client) {
		locked := scaletest.NewLocks(client, locks)
		require.NoError(t, locked.Lock())
		sim.SetFault(func(int, []string) simredis.Verdict { return simredis.Delay(500 * time.Millisecond) })
		time.Sleep(2 * time.Minute)
		require.Equal(t, locks, locked.Alive())
		for i := range locks {
			require.True(t, sim.Miniredis().Exists("scale:"+strconv.Itoa(i)))
		}
		sim.SetFault(nil)
		require.NoError(t, locked.Unlock())
		synctest.Wait()
		require.Empty(t, lost)
	})
}
