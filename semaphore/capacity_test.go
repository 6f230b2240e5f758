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

// defect D3: a caller that gets no permits because no capacity is set learns why. Redisson also waits for a capacity:
// so processes may start in any order.
func TestWithoutACapacityThereAreNoPermits(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := semaphore.New(l.client, l.name)
	refusals := map[string]error{}
	_, _, refusals["an attempt"] = s.TryAcquire(t.Context(), 1)
	short := semaphore.New(l.client, l.name, rlock.MaxWait(500*time.Millisecond))
	_, _, refusals["a wait"] = short.Acquire(t.Context(), 1)
	for what, err := range refusals {
		require.ErrorIs(t, err, semaphore.ErrNoCapacity, what)
		require.ErrorIs(t, err, rlock.ErrBusy, "there may be one soon")
		require.ErrorContains(t, err, "call SetCapacity", what)
		require.NotContains(t, err.Error(), "held by another", what)
	}
	waiter := l.waits(l.bounded(), s, 2)
	require.NoError(t, s.SetCapacity(t.Context(), 2))
	got := arrives(t, waiter, "the waiter gets in")
	require.NoError(t, got.err)
	require.NoError(t, got.release())
	l.sums(2, 0)
}

func TestMoreThanTheCapacityIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	_, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	for _, call := range []func() error{
		func() error { _, _, err := s.Acquire(t.Context(), 4); return err },
		func() error { _, _, err := s.TryAcquire(t.Context(), 4); return err },
		func() error { return s.Do(t.Context(), 4, func(context.Context) error { return nil }) },
	} {
		var bad *rlock.ArgumentError
		err := call()
		require.ErrorAs(t, err, &bad)
		require.Equal(t, &rlock.ArgumentError{
			Name: "n", Value: int64(4), Problem: "must be at most the capacity, 3",
		}, bad)
		require.NotErrorIs(t, err, rlock.ErrUnavailable)
		l.sums(1, 2)
	}
	require.NoError(t, s.SetCapacity(t.Context(), 4))
	waiter := l.waits(l.bounded(), s, 4)
	require.NoError(t, release())
	got := arrives(t, waiter, "as many as there are now")
	require.NoError(t, got.err)
	require.NoError(t, got.release())
}

// defect D4: a waiter for more than the lowered capacity learns of that, and not that its argument was bad.
func TestACapacityThatShrinksRefusesWaiters(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	_, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	first, second := l.waits(l.bounded(), s, 3), l.waits(l.bounded(), s, 3) // which did not ask yet
	require.NoError(t, s.SetCapacity(t.Context(), 2))
	for _, waiter := range []<-chan came{first, second} {
		var fell *semaphore.CapacityError
		err := arrives(t, waiter, "it is refused").err
		require.ErrorAs(t, err, &fell)
		require.Equal(t, &semaphore.CapacityError{Name: l.name, N: 3, Capacity: 2}, fell)
		require.ErrorContains(t, err, "cannot acquire 3 permits: the capacity was lowered to 2")
		var bad *rlock.ArgumentError
		require.NotErrorAs(t, err, &bad)
	}
	require.NoError(t, release())
	l.sums(2, 0)
}

// needs 11: less than is held means that nobody gets any until enough came back.
func TestACapacityBelowWhatIsHeldIsDrained(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(4)
	var releases []func() error
	for range 4 {
		held, release, err := s.Acquire(t.Context(), 1)
		require.NoError(t, err)
		defer func() { require.ErrorIs(t, context.Cause(held), rlock.ErrReleased, "nobody lost any") }()
		releases = append(releases, release)
	}
	require.NoError(t, s.SetCapacity(t.Context(), 2))
	l.sums(-2, 4)
	waiter := l.waits(l.bounded(), semaphore.New(l.other, l.name), 1)
	for i, want := range [][]int64{{-1, 3}, {0, 2}} {
		require.NoError(t, releases[i]())
		l.sums(want[0], want[1])
		_, _, err := semaphore.New(l.client, l.name).TryAcquire(t.Context(), 1)
		require.ErrorIs(t, err, rlock.ErrBusy)
		nothingYet(t, waiter, "a permit was granted before the semaphore had drained")
	}
	require.NoError(t, releases[2]())
	got := arrives(t, waiter, "a permit is free")
	require.NoError(t, got.err)
	l.sums(0, 2)
	require.NoError(t, releases[3]())
	require.NoError(t, got.release())
	l.sums(2, 0)
}

// bug 27: a capacity that grows wakes waiters for as many permits as there are now. Nobody polls here.
func TestACapacityThatGrowsWakesWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	l := newLab(t, server)
	s := l.leased(2)
	_, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	patient := newClient(t, server.Addr(), &rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
	waiter := make(chan came, 1)
	go func() {
		held, release, err := semaphore.New(patient, l.name).Acquire(l.bounded(), 2)
		waiter <- came{held, release, err}
	}()
	l.listened()
	require.NoError(t, s.SetCapacity(t.Context(), 4))
	got := arrives(t, waiter, "two more are there")
	require.NoError(t, got.err)
	l.sums(0, 4)
	require.NoError(t, got.release())
	require.NoError(t, release())
}

// A capacity of zero is a pause: nobody is refused for asking for more than that.
func TestACapacityOfZeroIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(0)
	_, _, err := s.TryAcquire(t.Context(), 1)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NotErrorIs(t, err, semaphore.ErrNoCapacity)
	waiter := l.waits(l.bounded(), s, 2)
	require.NoError(t, s.SetCapacity(t.Context(), 2))
	got := arrives(t, waiter, "the pause is over")
	require.NoError(t, got.err)
	require.NoError(t, got.release())
}
