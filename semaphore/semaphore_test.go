package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func TestPermitsAreHeldByAContext(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	require.Equal(t, l.name, s.Name())
	held, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	require.NoError(t, held.Err())
	l.sums(1, 2)
	other, releaseOther, err := semaphore.New(l.other, l.name).TryAcquire(t.Context(), 1)
	require.NoError(t, err)
	l.sums(0, 3)
	require.NoError(t, release())
	require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
	require.NoError(t, other.Err())
	l.sums(2, 1)
	require.NoError(t, releaseOther())
	l.sums(3, 0)
}

// bug 37: a second release gives back nothing, of whose the permits ever are by then.
func TestAReleaseCountsOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(2)
	_, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, release())
	require.ErrorIs(t, release(), rlock.ErrNotHeld)
	_, next, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	require.ErrorIs(t, release(), rlock.ErrNotHeld)
	l.sums(1, 1)
	require.NoError(t, next())
	l.sums(2, 0)
}

func TestPermitsAreNotReentered(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(2)
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	inner, releaseInner, err := s.Acquire(held, 1)
	require.NoError(t, err)
	l.sums(0, 2)
	_, _, err = s.TryAcquire(inner, 1)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NoError(t, release())
	l.sums(1, 1)
	require.Error(t, inner.Err(), "it is a child of the other one's context")
	require.NoError(t, releaseInner())
	l.sums(2, 0)
}

func TestDoHoldsPermits(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	require.ErrorIs(t, s.Do(t.Context(), 2, func(ctx context.Context) error {
		l.sums(1, 2)
		require.NoError(t, ctx.Err())
		return context.Canceled
	}), context.Canceled)
	l.sums(3, 0)
	require.Panics(t, func() {
		_ = s.Do(t.Context(), 1, func(context.Context) error { panic("in between") })
	})
	l.sums(3, 0)
	var bad *rlock.ArgumentError
	require.ErrorAs(t, s.Do(t.Context(), 1, nil), &bad)
}

// bug 26: a waiter for several is woken when as many are free, and by a message: nobody polls here.
func TestAWaiterForSeveralIsWoken(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	l := newLab(t, server)
	patient := newClient(t, server.Addr(), &rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
	s := semaphore.New(newClient(t, server.Addr(), &rlock.ClientOptions{Lease: time.Hour}), l.name)
	require.NoError(t, s.SetCapacity(t.Context(), 3))
	var releases []func() error
	for range 3 {
		_, release, err := s.Acquire(t.Context(), 1)
		require.NoError(t, err)
		releases = append(releases, release)
	}
	waiter := make(chan came, 1)
	go func() {
		held, release, err := semaphore.New(patient, l.name).Acquire(l.bounded(), 3)
		waiter <- came{held, release, err}
	}()
	l.listened()
	for _, release := range releases[:2] {
		require.NoError(t, release())
		nothingYet(t, waiter, "three were granted where three were not free")
	}
	require.NoError(t, releases[2]())
	got := arrives(t, waiter, "three are free")
	require.NoError(t, got.err)
	l.sums(0, 3)
	require.NoError(t, got.release())
}

// In a process a large request is not starved: later callers wait behind it, even if there would be enough for them.
func TestALargeRequestIsNotStarved(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	var holds []came
	for range 3 {
		held, release, err := s.Acquire(t.Context(), 1)
		require.NoError(t, err)
		holds = append(holds, came{held, release, nil})
	}
	large := l.waits(l.bounded(), s, 3)
	var small []<-chan came
	for range 5 {
		small = append(small, l.waits(l.bounded(), s, 1))
	}
	for i, h := range holds {
		require.NoError(t, h.release())
		if i < 2 {
			l.sums(int64(i+1), int64(2-i))
			_, _, err := s.TryAcquire(t.Context(), 1)
			require.ErrorIs(t, err, rlock.ErrBusy, "an attempt does not pass those who wait")
		}
		for _, waiter := range small {
			nothingYet(t, waiter, "a small request overtook the large one")
		}
	}
	got := arrives(t, large, "all are free")
	require.NoError(t, got.err)
	l.sums(0, 3)
	require.NoError(t, got.release())
	// The requests behind it are let go together: which three of them win is not promised.
	var next []came
	for range 3 {
		next = append(next, oneOf(t, small, "three go on together"))
		require.NoError(t, next[len(next)-1].err)
	}
	for i := range 2 {
		for _, waiter := range small {
			nothingYet(t, waiter, "a fourth of three")
		}
		require.NoError(t, next[i].release())
		next = append(next, oneOf(t, small, "one after the other"))
		require.NoError(t, next[len(next)-1].err)
	}
	for _, h := range next[2:] {
		require.NoError(t, h.release())
	}
	l.sums(3, 0)
}

func TestOptionsOfPermits(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(1)
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	_, _, err = semaphore.New(l.other, l.name, rlock.MaxWait(time.Second)).Acquire(t.Context(), 1)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	same, notHeld, err := semaphore.New(l.other, l.name).Acquire(ctx, 1)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, same == ctx)
	require.ErrorIs(t, notHeld(), rlock.ErrNotHeld)
	require.NoError(t, held.Err())
	require.NoError(t, release())

	fixed, release, err := semaphore.New(l.client, l.name, rlock.FixedLease(time.Second)).
		Acquire(t.Context(), 1)
	require.NoError(t, err)
	arrives(t, fixed.Done(), "a fixed lease ends")
	require.ErrorIs(t, context.Cause(fixed), rlock.ErrLost)
	_, next, err := semaphore.New(l.other, l.name).Acquire(l.bounded(), 1)
	require.NoError(t, err, "the permit is free again")
	require.ErrorIs(t, release(), rlock.ErrLost)
	l.sums(0, 1)
	require.NoError(t, next())
	l.sums(1, 0)
}
