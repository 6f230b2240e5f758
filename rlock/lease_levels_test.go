package rlock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G3, need 18: the count in Redis follows the number of levels, and nothing else stands beside it.
func TestCountInRedisMirrorsTheLevels(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(client, key)
	ctx := t.Context()
	var holds []timeHold
	var id string
	for depth := 1; depth <= 5; depth++ {
		h := timeLock(t, ctx, lock)
		holds, ctx = append(holds, h), h.ctx
		hold := timeHeld(t, ctx, lock)
		require.Equal(t, depth, hold.Count)
		if id == "" {
			id = hold.ID
		}
		require.Equal(t, id, hold.ID)
		timeCounts(t, rdb, key, id, depth)
		require.Equal(t, int64(1), rdb.HLen(t.Context(), key).Val())
	}
	for depth := 5; depth > 1; depth-- {
		require.NoError(t, holds[depth-1].unlock())
		require.ErrorIs(t, context.Cause(holds[depth-1].ctx), rlock.ErrReleased)
		require.NoError(t, holds[depth-2].ctx.Err())
		timeCounts(t, rdb, key, id, depth-1)
	}
	require.NoError(t, holds[0].unlock())
	timeGone(t, rdb, key)
}

// Levels may be unlocked in any order; the lock is held until the last of them.
func TestOuterLevelUnlockedFirstLeavesTheInnerHeld(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	stranger := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(client, key)
	outer := timeLock(t, t.Context(), lock)
	inner := timeLock(t, outer.ctx, lock)
	id := timeHeld(t, inner.ctx, lock).ID

	require.NoError(t, outer.unlock())
	require.ErrorIs(t, outer.unlock(), rlock.ErrNotHeld, "a level is freed once")
	timeCounts(t, rdb, key, id, 1)
	// The inner context is a child of the outer one and ended with it; the level did not.
	require.ErrorIs(t, context.Cause(inner.ctx), rlock.ErrReleased)
	require.Equal(t, 1, timeHeld(t, context.WithoutCancel(inner.ctx), lock).Count)
	_, _, err := rlock.New(stranger, key).TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrBusy)
	_, _, err = lock.TryLock(context.Background())
	require.ErrorIs(t, err, rlock.ErrBusy)

	require.NoError(t, inner.unlock())
	timeGone(t, rdb, key)
}

func TestHundredLevels(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(client, key)
	const levels = 100
	ctx := t.Context()
	var unlocks []func() error
	for range levels {
		h := timeLock(t, ctx, lock)
		unlocks, ctx = append(unlocks, h.unlock), h.ctx
	}
	id := timeHeld(t, ctx, lock).ID
	timeCounts(t, rdb, key, id, levels)
	for left := levels - 1; left >= 0; left-- {
		require.NoError(t, unlocks[left]())
		if left == levels/2 {
			timeCounts(t, rdb, key, id, left)
		}
	}
	timeGone(t, rdb, key)
}

// Interleaving 13 without a network fault: many goroutines enter and leave one hold.
func TestGoroutinesInsideOneHoldReenterAndLeaveInAnyOrder(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 10 * time.Second})
	lock := rlock.New(client, key)
	outer := timeLock(t, t.Context(), lock)
	id := timeHeld(t, outer.ctx, lock).ID

	const goroutines, rounds = 32, 6
	unlocks := make(chan func() error, goroutines*rounds)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() { leaseChurn(t, lock, outer.ctx, rounds, unlocks) })
	}
	all.Wait()
	close(unlocks)
	left := len(unlocks)
	require.Equal(t, left+1, timeHeld(t, outer.ctx, lock).Count)
	timeCounts(t, rdb, key, id, left+1)
	for unlock := range unlocks {
		all.Go(func() {
			if err := unlock(); err != nil {
				t.Errorf("unlock: %v", err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, timeHeld(t, outer.ctx, lock).Count)
	timeCounts(t, rdb, key, id, 1)
	require.NoError(t, outer.ctx.Err())
	require.NoError(t, outer.unlock())
	timeGone(t, rdb, key)
}

// leaseChurn re-enters and unlocks half of the levels at once, each goroutine's in random order; the
// others are left to be unlocked by somebody else.
func leaseChurn(
	t *testing.T, lock *rlock.Lock, ctx context.Context, rounds int, later chan<- func() error,
) {
	var own []func() error
	for range rounds {
		held, unlock, err := lock.Lock(ctx)
		if err != nil {
			t.Errorf("re-entry: %v", err)
			return
		}
		if rand.IntN(2) == 0 {
			ctx = held // nest as well as stand beside one another
		}
		own = append(own, unlock)
	}
	rand.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	for i, unlock := range own {
		if i%2 == 0 {
			later <- unlock
			continue
		}
		if err := unlock(); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
}
