package semaphore_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// counting makes a counting semaphore with n permits, by the client that goes through the proxy.
func (l *lab) counting(n int64, opts ...rlock.Option) *semaphore.Counting {
	l.Helper()
	s := semaphore.NewCounting(l.client, l.name, opts...)
	require.NoError(l, s.Set(l.bounded(), n))
	return s
}

// is asserts the number that stands in Redis.
func (l *lab) is(want int64) {
	l.Helper()
	got, err := l.direct.Get(l.Context(), l.name).Int64()
	require.NoError(l, err)
	require.Equal(l, want, got)
}

// waitsFor starts an Acquire and returns when it waits.
func (l *lab) waitsFor(ctx context.Context, s *semaphore.Counting, n int64) <-chan error {
	l.Helper()
	c := make(chan error, 1)
	l.untilWaiting(func() { c <- s.Acquire(ctx, n) })
	return c
}

func TestCounting(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.counting(3)
	require.Equal(t, l.name, s.Name())
	require.NoError(t, s.Acquire(t.Context(), 2))
	l.is(1)
	require.ErrorIs(t, s.TryAcquire(t.Context(), 2), rlock.ErrBusy)
	require.NoError(t, s.TryAcquire(t.Context(), 1))
	available, err := s.Available(t.Context())
	require.NoError(t, err)
	require.Zero(t, available)
	require.NoError(t, s.Release(t.Context(), 5), "more than was acquired")
	l.is(5)
	drained, err := s.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(5), drained)
	l.is(0)
	drained, err = s.Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, drained)
	require.ErrorIs(t, s.Set(t.Context(), 9), rlock.ErrBusy, "bug 36: with none left it is there all the same")
	l.is(0)
}

func TestCountingThatWasNeverSet(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := semaphore.NewCounting(l.client, l.name)
	available, err := s.Available(t.Context())
	require.NoError(t, err)
	require.Zero(t, available)
	require.ErrorIs(t, s.TryAcquire(t.Context(), 1), rlock.ErrBusy)
	drained, err := s.Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, drained)
	require.Zero(t, l.direct.Exists(t.Context(), l.name).Val())
	waiter := l.waitsFor(l.bounded(), s, 2)
	require.NoError(t, s.Release(t.Context(), 1))
	require.NoError(t, s.Release(t.Context(), 1))
	require.NoError(t, arrives(t, waiter, "two are free"))
	l.is(0)
}

// A number below zero is how permits are taken away that are not there, and Available tells it (defect G61).
func TestCountingBelowZero(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	require.NoError(t, l.direct.Set(t.Context(), l.name, -2, 0).Err())
	s := semaphore.NewCounting(l.client, l.name)
	available, err := s.Available(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(-2), available)
	waiter := l.waitsFor(l.bounded(), s, 1)
	require.NoError(t, s.Release(t.Context(), 2))
	nothingYet(t, waiter, "none is free")
	require.NoError(t, s.Release(t.Context(), 1))
	require.NoError(t, arrives(t, waiter, "one is free"))
	l.is(0)
}

// Nobody polls here: each way to add permits wakes waiters.
func TestCountingWakesItsWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, free := range map[string]func(s *semaphore.Counting) error{
		"release": func(s *semaphore.Counting) error { return s.Release(t.Context(), 2) },
		"set":     func(s *semaphore.Counting) error { return s.Set(t.Context(), 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, server)
			patient := newClient(t, server.Addr(), &rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
			waiter := make(chan error, 1)
			go func() { waiter <- semaphore.NewCounting(patient, l.name).Acquire(l.bounded(), 2) }()
			l.listened()
			require.NoError(t, free(semaphore.NewCounting(l.other, l.name)))
			require.NoError(t, arrives(t, waiter, "it is woken"))
			l.is(0)
		})
	}
}

func TestCountingServesItsProcessInOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.counting(2)
	large := l.waitsFor(l.bounded(), s, 3)
	small := l.waitsFor(l.bounded(), s, 1)
	require.ErrorIs(t, s.TryAcquire(t.Context(), 1), rlock.ErrBusy, "an attempt does not pass those who wait")
	l.is(2)
	require.NoError(t, s.Release(t.Context(), 1))
	require.NoError(t, arrives(t, large, "three are free"))
	nothingYet(t, small, "none is left")
	require.NoError(t, s.Release(t.Context(), 1))
	require.NoError(t, arrives(t, small, "its turn"))
	l.is(0)
}

func TestAWaitForACountEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.counting(1)
	ctx, cancel := context.WithCancel(t.Context())
	waiter := l.waitsFor(ctx, s, 2)
	cancel()
	err := arrives(t, waiter, "its context is over")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorIs(t, s.Acquire(ctx, 1), context.Canceled, "nothing is sent")
	require.ErrorIs(t, s.Release(ctx, 1), context.Canceled)
	l.is(1)

	short := semaphore.NewCounting(l.client, l.name, rlock.MaxWait(time.Second))
	err = short.Acquire(t.Context(), 2)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, s.Acquire(t.Context(), 1))
	l.is(0)
}

func TestACountHasALimit(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.counting(math.MaxInt32 - 1)
	var bad *rlock.ArgumentError
	err := s.Release(t.Context(), 2)
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "must be at most 1 now", bad.Problem)
	require.NotErrorIs(t, err, rlock.ErrUnavailable)
	l.is(math.MaxInt32 - 1)
	require.NoError(t, s.Release(t.Context(), 1))
	require.NoError(t, s.Acquire(t.Context(), math.MaxInt32))
	l.is(0)
}
