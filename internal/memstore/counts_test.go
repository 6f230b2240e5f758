package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// doubled is a network that copies the acquisitions of client 0.
type doubled time.Duration

func (d doubled) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Kind == memstore.Acquire && r.Client == 0 {
		fate.Again = time.Duration(d)
	}
	return fate
}

const copied = 100 * time.Millisecond

// copiedCounts are one semaphore for two clients. The acquisitions of the first are copied.
func copiedCounts(t *testing.T) (doubles, other *semaphore.Counting) {
	server := memstore.NewServer(doubled(copied))
	t.Cleanup(server.Close)
	var of [2]*semaphore.Counting
	for i := range of {
		client, _ := open(t, server, i, true, minute)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		of[i] = semaphore.NewCounting(client, "a")
	}
	return of[0], of[1]
}

// The copy comes when others have taken theirs.
func TestACopyOfACountCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		doubles, other := copiedCounts(t)
		require.NoError(t, other.Set(t.Context(), 3))
		require.NoError(t, doubles.TryAcquire(t.Context(), 1))
		time.Sleep(copied / 2)
		require.NoError(t, other.TryAcquire(t.Context(), 1))
		time.Sleep(copied + time.Millisecond)
		free, err := other.Available(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), free)
	})
}

// What nobody owns has no lease that ends what a copy takes: a request that was refused, and whose caller has left, is
// cancelled.
func TestACopyOfACountThatWasGivenUpTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leaves, other := copiedCounts(t)
		require.NoError(t, other.Set(t.Context(), 1))
		require.NoError(t, other.TryAcquire(t.Context(), 1))

		ctx, cancel := context.WithTimeout(t.Context(), copied/2)
		defer cancel()
		require.ErrorIs(t, leaves.Acquire(ctx, 1), rlock.ErrBusy)
		require.NoError(t, other.Release(t.Context(), 1))
		time.Sleep(copied + time.Millisecond)
		require.NoError(t, other.TryAcquire(t.Context(), 1), "the copy has not")
	})
}

// A copy of a refused attempt may take a lock that has become free since; nobody has it then, and its lease ends.
func TestACopyOfARefusedAttemptEndsWithItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(doubled(copied))
		defer server.Close()
		var locks [2]*rlock.Lock
		for i := range locks {
			client, _ := open(t, server, i, true, minute)
			defer func() { require.NoError(t, client.Close()) }()
			locks[i] = rlock.New(client, "a")
		}
		_, unlock, err := locks[1].Lock(t.Context())
		require.NoError(t, err)
		_, _, err = locks[0].TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
		time.Sleep(copied + time.Millisecond)
		_, _, err = locks[1].TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy, "the copy has it")
		time.Sleep(minute)
		_, unlock, err = locks[1].TryLock(t.Context())
		require.NoError(t, err)
		require.NoError(t, unlock())
	})
}
