package certmagiclock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/adapters/certmagiclock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

var _ certmagic.TryLocker = (*certmagiclock.Storage)(nil)

// process is a storage as one process has it.
func process(t *testing.T, client *rlock.Client) *certmagiclock.Storage {
	t.Helper()
	return certmagiclock.New(&certmagic.FileStorage{Path: t.TempDir()}, func(name string) *lock.Lock {
		return rlock.New(client, name)
	})
}

// one is a storage on a lab of its own.
func one(t *testing.T) (*certmagiclock.Storage, *holdfasttest.Lab) {
	t.Helper()
	lab := holdfasttest.New(t)
	return process(t, lab.Client(nil)), lab
}

func TestUnlockWithoutLock(t *testing.T) {
	t.Parallel()
	s, _ := one(t)
	ctx := t.Context()
	require.ErrorIs(t, s.Unlock(ctx, "a"), lock.ErrNotHeld)
	require.NoError(t, s.Lock(ctx, "a"))
	require.ErrorIs(t, s.Unlock(ctx, "b"), lock.ErrNotHeld)
	require.NoError(t, s.Unlock(ctx, "a"))
	require.ErrorIs(t, s.Unlock(ctx, "a"), lock.ErrNotHeld)
	require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrNotHeld)
}

// Many goroutines of two processes, on few names: one at a time has each.
func TestExclusion(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	processes := []*certmagiclock.Storage{process(t, lab.Client(nil)), process(t, lab.Client(nil))}
	inside := make([]atomic.Int32, 5)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s, n := processes[i%2], i%len(inside)
			name := fmt.Sprint("name", n)
			for range 25 {
				if !assert.NoError(t, s.Lock(t.Context(), name)) {
					return
				}
				assert.EqualValues(t, 1, inside[n].Add(1))
				assert.NoError(t, s.RenewLockLease(t.Context(), name, time.Hour))
				inside[n].Add(-1)
				assert.NoError(t, s.Unlock(t.Context(), name))
			}
		})
	}
	all.Wait()
}

func TestTryLock(t *testing.T) {
	t.Parallel()
	s, lab := one(t)
	ctx := t.Context()
	ok, err := s.TryLock(ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = s.TryLock(ctx, "a")
	require.NoError(t, err, "it is busy, which is no error")
	require.False(t, ok)
	require.NoError(t, s.Unlock(ctx, "a"))

	release := lab.HoldElsewhere("b")
	ok, err = s.TryLock(ctx, "b")
	require.NoError(t, err)
	require.False(t, ok)
	release()

	ended, end := context.WithCancel(ctx)
	end()
	ok, err = s.TryLock(ended, "b")
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, ok)
}

// A wait ends with its context. A hold does not: certmagic unlocks by a context of its own.
func TestTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := one(t)
		ctx, end := context.WithCancel(t.Context())
		require.NoError(t, s.Lock(ctx, "a"))
		failed := make(chan error)
		go func() { failed <- s.Lock(ctx, "a") }()
		synctest.Wait()
		end()
		err := <-failed
		require.ErrorIs(t, err, lock.ErrBusy)
		require.ErrorIs(t, err, context.Canceled)

		time.Sleep(time.Hour)
		require.NoError(t, s.RenewLockLease(t.Context(), "a", time.Minute), "still held")
		ok, err := s.TryLock(t.Context(), "a")
		require.NoError(t, err)
		require.False(t, ok)
		require.NoError(t, s.Unlock(ctx, "a"))
		ok, err = s.TryLock(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, s.Unlock(ctx, "a"))
	})
}

// A hold that the application's context carries is not re-entered.
func TestHoldsOfTheApplicationDoNotCount(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	client := lab.Client(nil)
	s := process(t, client)
	require.NoError(t, rlock.New(client, "a").Do(t.Context(), func(ctx context.Context) error {
		ok, err := s.TryLock(ctx, "a")
		require.NoError(t, err)
		require.False(t, ok)
		ctx, end := context.WithTimeout(ctx, 500*time.Millisecond)
		defer end()
		require.ErrorIs(t, s.Lock(ctx, "a"), lock.ErrBusy)
		return nil
	}))
}

func TestALostHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, lab := one(t)
		ctx := t.Context()
		require.NoError(t, s.Lock(ctx, "a"))
		lab.Lose("a", rlock.LossGone)
		require.ErrorIs(t, s.Unlock(ctx, "a"), lock.ErrLost)
		require.ErrorIs(t, s.Unlock(ctx, "a"), lock.ErrNotHeld)

		require.NoError(t, s.Lock(ctx, "a"))
		lab.Lose("a", rlock.LossExpired)
		require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrLost, "an attempt fails")
		require.NoError(t, s.RenewLockLease(ctx, "a", time.Minute), "the next one has the lock again")
		require.NoError(t, s.RenewLockLease(ctx, "a", time.Minute))
		require.NoError(t, s.Unlock(ctx, "a"))

		require.NoError(t, s.Lock(ctx, "a"))
		lab.Lose("a", rlock.LossGone)
		release := lab.HoldElsewhere("a")
		require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrLost)
		require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrBusy, "another process has it")
		release()
		require.NoError(t, s.RenewLockLease(ctx, "a", time.Minute))
		require.NoError(t, s.Unlock(ctx, "a"))
	})
}

// The Unlock of a goroutine that lost its hold must not end the hold of another one.
func TestUnlockEndsTheHoldOfItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		s, elsewhere := process(t, lab.Client(nil)), process(t, lab.Client(nil))
		ctx := t.Context()
		require.NoError(t, s.Lock(ctx, "a"))
		lab.Lose("a", rlock.LossGone)

		second := make(chan error)
		go func() { second <- s.Lock(ctx, "a") }()
		synctest.Wait()
		select {
		case err := <-second:
			t.Fatal("locked beside a goroutine that has not unlocked:", err)
		default:
		}
		ok, err := s.TryLock(ctx, "a")
		require.NoError(t, err)
		require.False(t, ok)
		limited, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		err = s.Lock(limited, "a")
		require.ErrorIs(t, err, lock.ErrBusy)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, elsewhere.Lock(ctx, "a"), "other processes do not wait for that")
		require.NoError(t, elsewhere.Unlock(ctx, "a"))

		require.ErrorIs(t, s.Unlock(ctx, "a"), lock.ErrLost)
		require.NoError(t, <-second)
		ok, err = elsewhere.TryLock(ctx, "a")
		require.NoError(t, err)
		require.False(t, ok, "the second goroutine has it")
		require.NoError(t, s.Unlock(ctx, "a"))
	})
}

// certmagic unlocks while the lock is being taken again: nothing is left.
func TestUnlockDuringRenewLockLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, lab := one(t)
		ctx := t.Context()
		require.NoError(t, s.Lock(ctx, "a"))
		lab.Lose("a", rlock.LossMaxHold)
		require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrLost)
		lab.Freeze()
		renewed := make(chan error)
		go func() { renewed <- s.RenewLockLease(ctx, "a", time.Minute) }()
		synctest.Wait()
		require.ErrorIs(t, s.Unlock(ctx, "a"), lock.ErrLost)
		lab.Thaw()
		require.ErrorIs(t, <-renewed, lock.ErrNotHeld)
		ok, err := s.TryLock(ctx, "a")
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, s.Unlock(ctx, "a"))
	})
}

// Redis does not answer: nothing waits for longer than the locks do, and nothing is left.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, lab := one(t)
		ctx := t.Context()
		require.NoError(t, s.Lock(ctx, "a"))
		lab.Freeze()
		_, err := s.TryLock(ctx, "b")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.ErrorIs(t, s.Lock(ctx, "b"), lock.ErrUnavailable)
		require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrLost, "the lease is over by now")
		require.ErrorIs(t, s.RenewLockLease(ctx, "a", time.Minute), lock.ErrUnavailable)
		lab.Thaw()
		time.Sleep(time.Minute) // until the next attempt; meanwhile what was sent is cleaned up
		require.NoError(t, s.RenewLockLease(ctx, "a", time.Minute))
		require.NoError(t, s.Unlock(ctx, "a"))
		require.NoError(t, s.Lock(ctx, "b"))
		require.NoError(t, s.Unlock(ctx, "b"))
	})
}
