package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// inspectJava is the hash field of a Redisson client's thread.
const inspectJava = "5f3ae2a0-9a2e-4d1f-8d6c-0c3b9d6a1e55:47"

// inspectForeign makes a lock that a Java thread holds.
func inspectForeign(t *testing.T, key string, count int, ttl time.Duration) {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	require.NoError(t, rdb.HSet(t.Context(), key, inspectJava, count).Err())
	require.NoError(t, rdb.PExpire(t.Context(), key, ttl).Err())
	t.Cleanup(func() { rdb.Del(context.Background(), key) })
}

func inspect(t testing.TB, l *rlock.Lock) rlock.Info {
	t.Helper()
	info, err := l.Inspect(context.Background())
	require.NoError(t, err)
	return info
}

// inspectWaits starts calls that wait for the lock, and has them over when the test is.
func inspectWaits(t *testing.T, l *rlock.Lock, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, n)
	for range n {
		go func() {
			_, _, err := l.Lock(ctx)
			done <- err
		}()
	}
	t.Cleanup(func() {
		cancel()
		for range n {
			require.ErrorIs(t, timeReceive(t, done, "a waiter's end"), rlock.ErrBusy)
		}
	})
}

func inspectSees(t testing.TB, l *rlock.Lock, waiters int) {
	t.Helper()
	redistest.Eventually(t, timeLimit, func() bool { return inspect(t, l).Waiters == waiters },
		"the number of waiters")
}

func TestInspectOfAFreeLock(t *testing.T) {
	t.Parallel()
	client := timeClient(t, redistest.Shared(t).Addr(), rlock.ClientOptions{})
	lock := rlock.New(client, redistest.Key(t))
	require.Equal(t, rlock.Info{}, inspect(t, lock))
	require.NoError(t, timeLock(t, t.Context(), lock).unlock())
	require.Equal(t, rlock.Info{}, inspect(t, lock), "it was held, and is not any more")
}

// Need 24, who holds it (redisson#2116): both sides see the same hold, and each knows whose it is.
func TestInspectShowsTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key := redistest.Key(t)
	a := timeClient(t, server.Addr(), rlock.ClientOptions{})
	b := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(a, key)
	outer := timeLock(t, t.Context(), lock)
	inner := timeLock(t, outer.ctx, lock)
	hold := timeHeld(t, inner.ctx, lock)
	timeCounts(t, server.Client(t), key, hold.ID, 2)
	for mine, client := range map[bool]*rlock.Client{true: a, false: b} {
		info := inspect(t, rlock.New(client, key))
		require.Len(t, info.Holders, 1)
		seen := info.Holders[0]
		require.Equal(t, hold.ID, seen.ID)
		require.Equal(t, 2, seen.Count)
		require.Equal(t, hold.Fence, seen.Fence)
		require.Equal(t, mine, seen.Mine)
		timeBetween(t, 20*time.Second, seen.TTL, 30*time.Second)
		require.Zero(t, info.Waiters)
	}
	require.NoError(t, inner.unlock())
	redistest.Eventually(t, timeLimit, func() bool { return inspect(t, lock).Holders[0].Count == 1 }, "the count follows")
	require.NoError(t, outer.unlock())
}

func TestInspectShowsAJavaHolder(t *testing.T) {
	t.Parallel()
	key := redistest.Key(t)
	inspectForeign(t, key, 3, time.Minute)
	client := timeClient(t, redistest.Shared(t).Addr(), rlock.ClientOptions{})
	info := inspect(t, rlock.New(client, key))
	require.Len(t, info.Holders, 1)
	timeBetween(t, 50*time.Second, info.Holders[0].TTL, time.Minute)
	info.Holders[0].TTL = 0
	require.Equal(t, rlock.Holder{ID: inspectJava, Count: 3}, info.Holders[0])
}

// Waiters: each call of this process, and each other process that waits as one.
func TestInspectCountsWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key := redistest.Key(t)
	inspectForeign(t, key, 1, time.Minute)
	var locks []*rlock.Lock
	for range 3 {
		locks = append(locks,
			rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), key))
	}
	inspectWaits(t, locks[0], 2)
	inspectWaits(t, locks[1], 3)
	inspectSees(t, locks[0], 2+1)
	inspectSees(t, locks[1], 3+1)
	inspectSees(t, locks[2], 1+1)
}

// A waiter behind a hold of its own client asks Redis nothing, and counts all the same.
func TestInspectCountsWaitersBehindALocalHold(t *testing.T) {
	t.Parallel()
	client := timeClient(t, redistest.Shared(t).Addr(), rlock.ClientOptions{})
	lock := rlock.New(client, redistest.Key(t))
	hold := timeLock(t, t.Context(), lock)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := lock.Lock(rlock.WithoutHolds(ctx))
		ended <- err
	}()
	inspectSees(t, lock, 1)
	cancel()
	require.ErrorIs(t, timeReceive(t, ended, "the waiter's end"), rlock.ErrBusy)
	require.Zero(t, inspect(t, lock).Waiters)
	require.NoError(t, hold.unlock())
}

func TestInspectTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	lab := newTimeLab(t)
	// Another client has the hold: its renewals, and what it does to hear of a break, are no requests of Inspect's.
	hold := timeLock(t, t.Context(), rlock.New(lab.outside(t, rlock.ClientOptions{}), "order"))
	lock := rlock.New(lab.client(t, rlock.ClientOptions{}), "order")
	inspect(t, lock) // the server learns the script
	every := func(faultproxy.Request) bool { return true }
	before := lab.proxy.Requests(every)
	const times = 20
	for range times {
		require.Len(t, inspect(t, lock).Holders, 1)
	}
	require.Equal(t, times, lab.proxy.Requests(every)-before)
	require.NoError(t, hold.unlock())
}

// A connection that broke is found out by the command that was to use it, which is sent once more.
func TestInspectOverAConnectionThatBreaks(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]faultproxy.Action{
		"before it was carried out": faultproxy.CutBefore, "after it was": faultproxy.CutAfter,
	} {
		t.Run(name, func(t *testing.T) {
			lab := newTimeLab(t)
			client := lab.client(t, rlock.ClientOptions{})
			lock := rlock.New(client, "order")
			hold := timeLock(t, t.Context(), lock)
			cuts := lab.proxy.On(faultproxy.AnyScript, cut).Times(1)
			require.Len(t, inspect(t, lock).Holders, 1)
			cuts.Wait(t, 1)
			lab.proxy.On(faultproxy.AnyScript, cut).Times(2)
			_, err := lock.Inspect(t.Context())
			require.ErrorIs(t, err, rlock.ErrUnavailable, "two tries, and no third one")
			require.Len(t, inspect(t, lock).Holders, 1)
			require.NoError(t, hold.unlock())
		})
	}
}

// A caller whose context ends while the reply is on its way is gone at once, and nothing is sent for it again.
func TestInspectThatIsLeft(t *testing.T) {
	t.Parallel()
	lab := newTimeLab(t)
	client := lab.client(t, rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	inspect(t, lock) // the server learns the script
	gate := faultproxy.NewGate()
	defer gate.Open()
	held := lab.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(1)
	ctx, cancel := context.WithCancel(t.Context())
	before := lab.proxy.Requests(faultproxy.AnyScript)
	result := make(chan error, 1)
	go func() {
		_, err := lock.Inspect(ctx)
		result <- err
	}()
	held.Wait(t, 1)
	cancel()
	require.ErrorIs(t, timeReceive(t, result, "the end of the look"), context.Canceled)
	require.Equal(t, 1, lab.proxy.Requests(faultproxy.AnyScript)-before)
}

func TestInspectAndBreakThatRedisDoesNotAnswer(t *testing.T) {
	t.Parallel()
	lab := newTimeLab(t)
	client := lab.client(t, rlock.ClientOptions{Lease: 600 * time.Millisecond})
	lock := rlock.New(client, "order")
	lab.proxy.Blackhole(true)
	_, err := lock.Inspect(t.Context())
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "no context of the caller's ended")
	require.ErrorIs(t, lock.Break(t.Context()), rlock.ErrUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lock.Inspect(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, lock.Break(ctx), context.Canceled)
}

// G14: neither reads nor deletes a key that is no lock.
func TestInspectAndBreakOfSomethingElse(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	for name, set := range map[string]func(string) error{
		"a string": func(k string) error { return rdb.Set(t.Context(), k, "v", 0).Err() },
		"an application's hash": func(k string) error {
			return rdb.HSet(t.Context(), k, "name", "x").Err()
		},
	} {
		k := key + name
		require.NoError(t, set(k), name)
		_, err := rlock.New(client, k).Inspect(t.Context())
		require.ErrorIs(t, err, rlock.ErrKeyConflict, name)
		require.ErrorIs(t, rlock.New(client, k).Break(t.Context()), rlock.ErrKeyConflict, name)
		require.Equal(t, int64(1), rdb.Exists(t.Context(), k).Val(), name)
	}
}
