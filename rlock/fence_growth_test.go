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

// fenceKey is where Redisson's fenced lock keeps the token of a plain name.
func fenceKey(key string) string { return "redisson_lock_token:{" + key + "}" }

func fenceOf(t testing.TB, ctx context.Context, l *rlock.Lock) int64 {
	t.Helper()
	return timeHeld(t, ctx, l).Fence
}

// fenceOnce locks, unlocks and returns the token.
func fenceOnce(t testing.TB, l *rlock.Lock) int64 {
	t.Helper()
	h := timeLock(t, t.Context(), l)
	fence := fenceOf(t, h.ctx, l)
	require.NoError(t, h.unlock())
	return fence
}

// fenceLadder checks that every token is above all earlier ones.
type fenceLadder struct {
	t    testing.TB
	last int64
}

func (f *fenceLadder) step(what string, fence int64) {
	f.t.Helper()
	require.Greater(f.t, fence, f.last, what)
	f.last = fence
}

// G13, need 12: whatever ended the hold before, the next one's token is greater.
func TestTokensGrowOverEveryEndOfAHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const key = "order"
	rdb := server.Client(t)
	a := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 5 * time.Second})
	b := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 5 * time.Second})
	lock, other := rlock.New(a, key), rlock.New(b, key)
	ladder := &fenceLadder{t: t}

	ladder.step("the first", fenceOnce(t, lock))
	ladder.step("unlock", fenceOnce(t, lock))
	ladder.step("unlock, by another client", fenceOnce(t, other))

	short := timeLock(t, t.Context(), rlock.New(a, key, rlock.FixedLease(100*time.Millisecond)))
	ladder.step("before an expiry", fenceOf(t, short.ctx, lock))
	ladder.step("expiry", fenceOnce(t, other))
	require.ErrorIs(t, short.unlock(), rlock.ErrLost)

	broken := timeLock(t, t.Context(), lock)
	ladder.step("before Break", fenceOf(t, broken.ctx, lock))
	require.NoError(t, other.Break(t.Context()))
	ladder.step("Break", fenceOnce(t, other))
	require.ErrorIs(t, broken.unlock(), rlock.ErrLost)

	moved := timeLock(t, t.Context(), lock)
	ladder.step("before Export", fenceOf(t, moved.ctx, lock))
	token, err := lock.Export(moved.ctx)
	require.NoError(t, err)
	ctx, unlock, err := other.Import(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, ladder.last, fenceOf(t, ctx, other), "the same hold")
	require.NoError(t, unlock())
	ladder.step("the importer's unlock", fenceOnce(t, lock))

	require.NoError(t, rdb.FlushAll(t.Context()).Err())
	ladder.step("all data lost", fenceOnce(t, lock))
	server.Kill()
	server.Restart()
	ladder.step("a restart that comes back empty", fenceOnce(t, other))
	ladder.step("and on", fenceOnce(t, lock))
}

// G8, G13, R2: each turn of a run has a token of its own, none of which is above the one that Redis has.
func TestTokensGrowOverPasses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	first := timeLock(t, t.Context(), lock)
	ladder := &fenceLadder{t: t}
	ladder.step("the first", fenceOf(t, first.ctx, lock))
	const waiters = 10
	var next []<-chan timeHold
	for i := range waiters {
		next = append(next, inspectNext(t, lock))
		inspectSees(t, lock, i+1)
	}
	h := first
	for _, c := range next {
		require.NoError(t, h.unlock())
		h = timeReceive(t, c, "the next hold, first in first out")
		fence := fenceOf(t, h.ctx, lock)
		ladder.step("pass", fence)
		newest, err := server.Client(t).Get(t.Context(), fenceKey("order")).Int64()
		require.NoError(t, err)
		require.LessOrEqual(t, fence, newest)
	}
	require.NoError(t, h.unlock())
}

// G3, G13, need 12: neither a re-entry nor a resend of the acquisition mints.
func TestTokenStaysForTheWholeHold(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Action{
		"no fault": faultproxy.Pass, "reply lost": faultproxy.DropReply,
		"cut after": faultproxy.CutAfter, "sent twice": faultproxy.Duplicate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			client := lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
			require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "clock")).unlock())
			lock := rlock.New(client, key)
			rule := lab.on("acquire", fault)
			outer := timeLock(t, t.Context(), lock)
			rule.Wait(t, 1)
			fence := fenceOf(t, outer.ctx, lock)
			stored := func() int64 {
				n, err := lab.direct.Get(t.Context(), fenceKey(key)).Int64()
				require.NoError(t, err)
				return n
			}
			require.Equal(t, stored(), fence)
			inner := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(time.Hour)))
			require.Equal(t, fence, fenceOf(t, inner.ctx, lock))
			require.NoError(t, inner.unlock())
			require.Equal(t, fence, fenceOf(t, outer.ctx, lock))
			require.Equal(t, fence, stored())
			require.Equal(t, fence, inspect(t, lock).Holders[0].Fence)
			require.NoError(t, outer.unlock())
		})
	}
}

// Redisson's fenced lock increments the same key, and goes on from ours as we go on from its.
func TestTokensOfJavaAndOursAreOneSequence(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	lock := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{FenceTTL: -1}), key)
	java := func() int64 { return rdb.Incr(t.Context(), fenceKey(key)).Val() }
	ladder := &fenceLadder{t: t}
	for range 5 {
		ladder.step("Java", java())
		ladder.step("ours", fenceOnce(t, lock))
		before := ladder.last
		ladder.step("Java", java())
		require.Equal(t, before+1, ladder.last)
	}
	require.Equal(t, fenceForEver, rdb.PTTL(t.Context(), fenceKey(key)).Val())
}
