package semaphore_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// onBothStores runs a test of two clients in Redis and in memory.
func onBothStores(t *testing.T, test func(t *testing.T, name string, ours, theirs *rlock.Client)) {
	t.Helper()
	t.Run("in Redis", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, nil)
		test(t, l.name, l.client, l.other)
	})
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		lab := holdfasttest.New(t)
		test(t, "sem", lab.Client(nil), lab.Client(nil))
	})
}

func TestACapacityIsChanged(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, name string, ours, theirs *rlock.Client) {
		s, other, ctx := semaphore.New(ours, name), semaphore.New(theirs, name), t.Context()
		numbers := func(free, all int64) {
			t.Helper()
			available, err := other.Available(ctx)
			require.NoError(t, err)
			capacity, err := other.Capacity(ctx)
			require.NoError(t, err)
			require.Equal(t, []int64{free, all}, []int64{available, capacity})
		}
		_, err := s.Available(ctx)
		require.ErrorIs(t, err, semaphore.ErrNoCapacity)
		_, err = s.Capacity(ctx)
		require.ErrorIs(t, err, semaphore.ErrNoCapacity)
		_, err = s.AddCapacity(ctx, 1)
		require.ErrorIs(t, err, semaphore.ErrNoCapacity)
		_, err = s.Capacity(ctx)
		require.ErrorIs(t, err, semaphore.ErrNoCapacity, "nothing was set")

		for i, want := range []int64{3, 3} { // the first one counts
			capacity, err := []*semaphore.Semaphore{s, other}[i].SetCapacityIfAbsent(ctx, int64(3+i))
			require.NoError(t, err)
			require.Equal(t, want, capacity)
		}
		held, release, err := s.Acquire(ctx, 2)
		require.NoError(t, err)
		numbers(1, 3)
		for _, step := range []struct{ by, free, all int64 }{{2, 3, 5}, {0, 3, 5}, {-4, 0, 1}, {-1, 0, 0}, {3, 1, 3}} {
			capacity, err := other.AddCapacity(ctx, step.by)
			require.NoError(t, err)
			require.Equal(t, step.all, capacity)
			numbers(step.free, step.all)
		}
		for _, by := range []int64{-4, math.MaxInt32 - 2} {
			_, err = other.AddCapacity(ctx, by)
			var bad *rlock.ArgumentError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "must be between -3 and 2147483644 now: the capacity is 3", bad.Problem)
			require.NotErrorIs(t, err, rlock.ErrUnavailable)
		}
		numbers(1, 3)
		require.NoError(t, held.Err(), "nobody lost any")
		require.NoError(t, release())
		capacity, err := s.AddCapacity(ctx, -3)
		require.NoError(t, err)
		require.Zero(t, capacity)
		capacity, err = s.SetCapacityIfAbsent(ctx, 5)
		require.NoError(t, err)
		require.Zero(t, capacity, "a pause is a capacity")
		require.NoError(t, s.Delete(ctx))
		capacity, err = s.SetCapacityIfAbsent(ctx, 5)
		require.NoError(t, err)
		require.Equal(t, int64(5), capacity)
	})
}

// Permits whose leases have ended are free, and belong to the capacity.
func TestExpiredPermitsAreAvailable(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, name string, ours, theirs *rlock.Client) {
		s, ctx := semaphore.New(ours, name), t.Context()
		require.NoError(t, s.SetCapacity(ctx, 3))
		held, release, err := semaphore.New(theirs, name, rlock.FixedLease(100*time.Millisecond)).Acquire(ctx, 2)
		require.NoError(t, err)
		arrives(t, held.Done(), "the lease ends")
		require.ErrorIs(t, release(), rlock.ErrLost)
		redistest.Eventually(t, patience, func() bool {
			available, err := s.Available(ctx)
			return err == nil && available == 3
		}, "the permits are free")
		capacity, err := s.AddCapacity(ctx, -2)
		require.NoError(t, err)
		require.Equal(t, int64(1), capacity)
		available, err := s.Available(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(1), available)
	})
}

// defect of relative changes: one whose reply is lost counts once, however often it is sent.
func TestAChangeOfTheCapacityUnderFaultsCountsOnce(t *testing.T) {
	underFaults(t, "permit_adjust", func(l *lab, strike func() *shot) {
		s := l.leased(5)
		shot := strike()
		_, err := s.AddCapacity(l.bounded(), -2)
		require.NoError(l, err)
		l.sums(3, 0)
		capacity, err := semaphore.New(l.other, l.name).AddCapacity(l.bounded(), 4)
		require.NoError(l, err)
		require.Equal(l, int64(7), capacity)
		shot.struck(l)
		l.quietly()
		l.sums(7, 0)
	})
}

// A capacity that is set if there is none is set by one call, and no copy of it sets one later.
func TestASetIfAbsentUnderFaultsCountsOnce(t *testing.T) {
	underFaults(t, "permit_adjust", func(l *lab, strike func() *shot) {
		s := semaphore.New(l.client, l.name)
		shot := strike()
		capacity, err := s.SetCapacityIfAbsent(l.bounded(), 3)
		require.NoError(l, err)
		require.Equal(l, int64(3), capacity)
		require.NoError(l, semaphore.New(l.other, l.name).Delete(l.bounded()))
		shot.struck(l)
		l.quietly()
		_, err = s.Capacity(l.bounded())
		require.ErrorIs(l, err, semaphore.ErrNoCapacity)
	})
}

// A change that was refused stays refused, whenever a copy of its request arrives.
func TestACopyOfARefusedChangeChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call func(l *lab, late *semaphore.Semaphore) error
		then func(l *lab, other *semaphore.Semaphore) error
		want int64
	}{
		"below zero": {func(l *lab, late *semaphore.Semaphore) error {
			_, err := late.AddCapacity(l.bounded(), -4)
			refused(l.T, err, "there are three")
			return nil
		}, func(l *lab, other *semaphore.Semaphore) error { return other.SetCapacity(l.bounded(), 9) }, 9},
		"set before": {func(l *lab, late *semaphore.Semaphore) error {
			_, err := late.SetCapacityIfAbsent(l.bounded(), 7)
			return err
		}, func(l *lab, other *semaphore.Semaphore) error { return other.Delete(l.bounded()) }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil)
			l.loadScripts()
			other := l.leased(3)
			gate := l.lateCopy("permit_adjust")
			require.NoError(t, c.call(l, semaphore.New(l.longLived(), l.name)))
			require.NoError(t, c.then(l, other))
			gate.Open()
			arrives(t, gate.Delivered(), "the copy is carried out")
			capacity, err := other.Capacity(l.bounded())
			if c.want < 0 {
				require.ErrorIs(t, err, semaphore.ErrNoCapacity)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, capacity)
		})
	}
}

// Nobody polls here: each change that a waiter wants to know is published.
func TestAChangeOfTheCapacityWakesWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, c := range map[string]struct {
		change func(s *semaphore.Semaphore) error
		falls  bool // below what the waiter wants: it gets an error
	}{
		"more": {func(s *semaphore.Semaphore) error { _, err := s.AddCapacity(t.Context(), 2); return err }, false},
		"fewer, with none free": {
			func(s *semaphore.Semaphore) error { _, err := s.AddCapacity(t.Context(), -1); return err }, true},
		"a lower one, with none free": {
			func(s *semaphore.Semaphore) error { return s.SetCapacity(t.Context(), 1) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, server)
			s := l.leased(2)
			_, release, err := s.Acquire(t.Context(), 2)
			require.NoError(t, err)
			defer func() { require.NoError(t, release()) }()
			patient := newClient(t, server.Addr(), &rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
			waiter := make(chan came, 1)
			go func() {
				held, release, err := semaphore.New(patient, l.name).Acquire(l.bounded(), 2)
				waiter <- came{held, release, err}
			}()
			l.listened()
			require.NoError(t, c.change(semaphore.New(l.other, l.name)))
			got := arrives(t, waiter, "the waiter learns it")
			if c.falls {
				var fell *semaphore.CapacityError
				require.ErrorAs(t, got.err, &fell)
				return
			}
			require.NoError(t, got.err)
			require.NoError(t, got.release())
		})
	}
}

// The end of a wait tells that the semaphore was deleted meanwhile, though nobody polls.
func TestADeletionIsToldToWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		other := semaphore.New(lab.Client(nil), "sem")
		require.NoError(t, other.SetCapacity(t.Context(), 0)) // a pause
		patient := lab.Client(&rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		waiter := make(chan error, 1)
		go func() { waiter <- ignore(semaphore.New(patient, "sem").Acquire(ctx, 1)) }()
		synctest.Wait()
		time.Sleep(time.Second) // until it has subscribed and asked again
		require.NoError(t, other.Delete(t.Context()))
		synctest.Wait()
		time.Sleep(time.Second)
		cancel()
		require.ErrorIs(t, <-waiter, semaphore.ErrNoCapacity)
	})
}

// With WaitForCapacity a caller waits for as many as there are not, as Redisson does.
func TestACapacityThatIsTooSmallIsWaitedFor(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, name string, ours, theirs *rlock.Client) {
		s, other := semaphore.New(ours, name, semaphore.WaitForCapacity()), semaphore.New(theirs, name)
		require.NoError(t, other.SetCapacity(t.Context(), 3))
		_, _, err := s.TryAcquire(t.Context(), 5)
		require.ErrorIs(t, err, rlock.ErrBusy)
		var small *semaphore.CapacityError
		require.ErrorAs(t, err, &small)
		require.Equal(t, semaphore.CapacityError{Name: name, N: 5, Capacity: 3}, *small)
		require.ErrorContains(t, err, "has a capacity of 3 and is asked for 5")
		ends, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, _, err = s.Acquire(ends, 5)
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorAs(t, err, &small)

		waiter := make(chan came, 1)
		go func() {
			held, release, err := s.Acquire(t.Context(), 5)
			waiter <- came{held, release, err}
		}()
		for _, by := range []int64{1, -2, 3} {
			nothingYet(t, waiter, "there are fewer than five")
			_, err := other.AddCapacity(t.Context(), by)
			require.NoError(t, err)
		}
		got := arrives(t, waiter, "there are five")
		require.NoError(t, got.err)
		require.NoError(t, got.release())
	})
}

func TestACountingCapacityIsChanged(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, name string, ours, theirs *rlock.Client) {
		s, other, ctx := semaphore.NewCounting(ours, name), semaphore.NewCounting(theirs, name), t.Context()
		require.NoError(t, s.AddCapacity(ctx, 3), "which creates it")
		require.NoError(t, s.Acquire(ctx, 2))
		require.NoError(t, other.AddCapacity(ctx, -2))
		require.ErrorIs(t, s.TryAcquire(ctx, 1), rlock.ErrBusy)
		require.NoError(t, s.Release(ctx, 2))
		available, err := s.Available(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(1), available)
		require.NoError(t, s.AddCapacity(ctx, -luacall.MaxCount), "below zero")
		err = s.AddCapacity(ctx, -2)
		refused(t, err, "too far below zero")
		require.ErrorContains(t, err, "must be at least -1 now")
		waiter := make(chan error, 1)
		go func() { waiter <- s.Acquire(ctx, 1) }()
		require.NoError(t, other.AddCapacity(ctx, luacall.MaxCount-1))
		nothingYet(t, waiter, "none is free")
		require.NoError(t, other.AddCapacity(ctx, 1))
		require.NoError(t, arrives(t, waiter, "one is free"))
	})
}
