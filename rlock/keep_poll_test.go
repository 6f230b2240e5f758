package rlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// pollerTakes is what a client sends that takes a free lock and says nothing else: like Redisson's tryLock.
const pollerTakes = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], 30000)
return 1`

// works locks, works and unlocks again and again until ctx ends, and counts the turns. With try it does so by TryLock.
func works(ctx context.Context, lock *rlock.Lock, try bool, work, pause time.Duration, turns *atomic.Int64) {
	take := lock.Lock
	if try {
		take = lock.TryLock
	}
	for ctx.Err() == nil {
		if _, unlock, err := take(ctx); err == nil {
			time.Sleep(work)
			_ = unlock()
			turns.Add(1)
		}
		time.Sleep(pause)
	}
}

// A client that polls and says nothing finds a lock free that one process keeps and uses all the time. After that the
// name is not kept for a while, and is free between any two turns (defect G39).
func TestAPollerGetsAKeptLock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		try              bool
		interval, pauses time.Duration
		often            time.Duration // the poller has a turn that often, in the mean
	}{
		{"Lock, 10 ms", false, 10 * time.Millisecond, 0, 2 * time.Second},
		{"Lock, 100 ms", false, 100 * time.Millisecond, 0, 6 * time.Second},
		{"TryLock, 10 ms", true, 10 * time.Millisecond, time.Millisecond, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, sim *timeSim) {
				_, kept := warmKept(t, sim, keepFor)
				poller := sim.Client()
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				var turns atomic.Int64
				go func() {
					defer close(done)
					works(ctx, kept, tc.try, 5*time.Millisecond, tc.pauses, &turns)
				}()
				const took = time.Minute
				got, began, longest := 0, time.Now(), time.Duration(0)
				for last := began; time.Since(began) < took; {
					time.Sleep(tc.interval)
					n, err := poller.Eval(t.Context(), pollerTakes, []string{"n"}, "stranger:1").Int()
					require.NoError(t, err)
					if n == 0 {
						continue
					}
					got, longest, last = got+1, max(longest, time.Since(last)), time.Now()
					time.Sleep(time.Millisecond)
					require.NoError(t, poller.Del(t.Context(), "n").Err())
				}
				stop()
				<-done
				t.Logf("%d turns, the longest wait %v; the keeper %d", got, longest, turns.Load())
				require.Greater(t, got, int(took/tc.often))
				require.Greater(t, turns.Load(), int64(took/(5*time.Millisecond)/2), "the keeper works too")
			})
		})
	}
}

// A process that keeps a lock and is alone loses a small share of its turns by leaving it to others.
func TestAKeeperThatIsAloneLosesLittle(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, kept := warmKept(t, sim, keepFor)
		const took = 30 * time.Second
		ctx, stop := context.WithTimeout(t.Context(), took)
		defer stop()
		var turns atomic.Int64
		works(ctx, kept, false, 5*time.Millisecond, 0, &turns)
		possible := int64(took / (5 * time.Millisecond))
		t.Logf("%d turns of %d", turns.Load(), possible)
		require.Greater(t, turns.Load(), possible*93/100)
		require.Less(t, turns.Load(), possible*99/100, "it leaves the lock now and then")
	})
}

// The same on a real server, where the keeper is as quick as it can be (defect G39).
func TestAPollerGetsAKeptLockOfAServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: keepLease})
	require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "n")).unlock()) // the first token has none beside it
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	var turns atomic.Int64
	go func() {
		defer close(done)
		works(ctx, rlock.New(client, "n", rlock.Keep(time.Second)), false, 200*time.Microsecond, 300*time.Microsecond, &turns)
	}()
	poller := server.Client(t)
	got := 0
	const enough, most = 5, 20_000
	for got < enough && turns.Load() < most {
		time.Sleep(10 * time.Millisecond)
		n, err := poller.Eval(t.Context(), pollerTakes, []string{"n"}, "stranger:1").Int()
		require.NoError(t, err)
		if n == 1 {
			got++
			require.NoError(t, poller.Del(t.Context(), "n").Err())
		}
	}
	stop()
	<-done
	require.Equal(t, enough, got, "while the keeper had %d turns", turns.Load())
}
