package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G10, need 19, bug 45, lease arithmetic on re-entry (redisson#1110): an inner lease of its own changes what
// Redis keeps only upwards, and its unlock sets the longest remaining lease, whatever order they are in.
func TestEveryLevelHasALeaseOfItsOwn(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	fixed := func(d time.Duration) []rlock.Option { return []rlock.Option{rlock.FixedLease(d)} }
	for name, c := range map[string]struct {
		outer, inner   []rlock.Option
		before, during time.Duration // what Redis keeps
		after          time.Duration
	}{
		"a shorter inner one does not shorten":           {nil, fixed(time.Second), lease, lease, lease},
		"a longer inner one extends":                     {nil, fixed(time.Hour), lease, time.Hour, lease},
		"a renewed one in a shorter fixed one":           {fixed(10 * time.Second), nil, 10 * time.Second, lease, 10 * time.Second},
		"a renewed one in a longer fixed one":            {fixed(time.Hour), nil, time.Hour, time.Hour, time.Hour},
		"a longer fixed one in a fixed one":              {fixed(10 * time.Second), fixed(time.Minute), 10 * time.Second, time.Minute, 10 * time.Second},
		"a shorter fixed one in a fixed one":             {fixed(time.Minute), fixed(10 * time.Second), time.Minute, time.Minute, time.Minute},
		"a renewed one in a renewed one changes nothing": {nil, nil, lease, lease, lease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			rdb, key := server.Client(t), redistest.Key(t)
			client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: lease})
			// What is kept is a few round trips old when it is looked at.
			kept := func(want time.Duration) {
				t.Helper()
				timeBetween(t, want-5*time.Second, timeTTL(t, rdb, key), want)
			}
			outer := timeLock(t, t.Context(), rlock.New(client, key, c.outer...))
			kept(c.before)
			inner := timeLock(t, outer.ctx, rlock.New(client, key, c.inner...))
			kept(c.during)
			require.NoError(t, inner.unlock())
			kept(c.after)
			require.NoError(t, outer.ctx.Err())
			require.NoError(t, outer.unlock())
			timeGone(t, rdb, key)
		})
	}
}

// Validity follows the lease down: after the inner one's unlock the hold must not count as live for as long
// as the inner lease would have lasted (G2, G10).
func TestValidityFallsWithTheLeaseThatAnInnerUnlockSetsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 30 * time.Second})
	key := redistest.Key(t)
	lock := rlock.New(client, key)
	outer := timeLock(t, t.Context(), lock)
	inner := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(time.Hour)))
	require.Greater(t, time.Until(timeHeld(t, inner.ctx, lock).ValidUntil), 50*time.Minute)
	require.NoError(t, inner.unlock())
	require.LessOrEqual(t, time.Until(timeHeld(t, outer.ctx, lock).ValidUntil), 30*time.Second)
	require.NoError(t, outer.unlock())
}

// Interleavings §2.2, need 19: the end of an inner lease ends that level, which is still to be unlocked, and
// nothing else.
func TestInnerLeaseThatRunsOutEndsOnlyItsLevel(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 5 * time.Second})
	lock := rlock.New(client, key)
	outer := timeLock(t, t.Context(), lock)
	inner := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(150*time.Millisecond)))
	id := timeHeld(t, outer.ctx, lock).ID

	timeLost(t, timeOver(t, inner.ctx), rlock.LossExpired)
	require.NoError(t, outer.ctx.Err())
	require.Equal(t, 2, timeHeld(t, outer.ctx, lock).Count, "it is not unlocked yet")
	_, _, err := lock.Lock(context.WithoutCancel(inner.ctx))
	timeLost(t, err, rlock.LossExpired)

	timeLost(t, inner.unlock(), rlock.LossExpired)
	require.Equal(t, 1, timeHeld(t, outer.ctx, lock).Count)
	timeCounts(t, rdb, key, id, 1)
	require.ErrorIs(t, inner.unlock(), rlock.ErrNotHeld)
	require.NoError(t, outer.ctx.Err())
	require.NoError(t, outer.unlock())
	timeGone(t, rdb, key)
}

// The other way round: the outer level's own lease runs out while an inner one keeps the hold. The key
// stays until the inner unlock, and each unlock tells what became of its level.
func TestInnerWatchdogKeepsTheHoldBeyondTheOuterLease(t *testing.T) {
	t.Parallel()
	for name, innerFirst := range map[string]bool{"inner first": true, "outer first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			rdb, key := server.Client(t), redistest.Key(t)
			client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 5 * time.Second})
			outer := timeLock(t, t.Context(),
				rlock.New(client, key, rlock.FixedLease(150*time.Millisecond)))
			inner := timeLock(t, outer.ctx, rlock.New(client, key))
			timeLost(t, timeOver(t, outer.ctx), rlock.LossExpired)
			timeBetween(t, time.Second, timeTTL(t, rdb, key), 5*time.Second)

			if innerFirst {
				require.NoError(t, inner.unlock(), "its own lease was renewed throughout")
				timeGone(t, rdb, key)
				timeLost(t, outer.unlock(), rlock.LossExpired)
				return
			}
			timeLost(t, outer.unlock(), rlock.LossExpired)
			timeBetween(t, time.Second, timeTTL(t, rdb, key), 5*time.Second)
			require.NoError(t, inner.unlock())
			timeGone(t, rdb, key)
		})
	}
}

// An inner level that ran out and is unlocked after the outer one still tells its loss.
func TestLostLevelUnlockedLastTellsItsLoss(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 5 * time.Second})
	outer := timeLock(t, t.Context(), rlock.New(client, key))
	inner := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(150*time.Millisecond)))
	timeLost(t, timeOver(t, inner.ctx), rlock.LossExpired)
	require.NoError(t, outer.unlock(), "no level is left that is valid")
	timeGone(t, rdb, key)
	timeLost(t, inner.unlock(), rlock.LossExpired)
}

// Three leases in one hold, the longest of them in the middle and unlocked first.
func TestLongestRemainingLeaseIsWhatStays(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	ctx := t.Context()
	var holds []timeHold
	for _, lease := range []time.Duration{time.Minute, time.Hour, 30 * time.Minute} {
		h := timeLock(t, ctx, rlock.New(client, key, rlock.FixedLease(lease)))
		holds, ctx = append(holds, h), h.ctx
	}
	timeBetween(t, 59*time.Minute, timeTTL(t, rdb, key), time.Hour)
	require.NoError(t, holds[1].unlock())
	timeBetween(t, 29*time.Minute, timeTTL(t, rdb, key), 30*time.Minute)
	require.NoError(t, holds[0].unlock())
	timeBetween(t, 29*time.Minute, timeTTL(t, rdb, key), 30*time.Minute)
	require.NoError(t, holds[2].unlock())
	timeGone(t, rdb, key)
}
