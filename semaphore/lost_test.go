package semaphore_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// lost deletes what Redis has of the semaphore.
func (l *lab) lost() {
	l.Helper()
	require.NoError(l, l.direct.Del(l.bounded(), l.name, "{"+l.name+"}:timeout").Err())
}

// Defect G4: a handle that has a capacity goes on after Redis lost its data, whoever waited by then.
func TestAHandlesCapacityIsSetAgainAfterALoss(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := semaphore.New(l.other, l.name, semaphore.Capacity(2))
	_, one, err := s.Acquire(l.bounded(), 1)
	require.NoError(t, err, "nobody set a capacity")
	l.sums(1, 1)
	_, two, err := s.Acquire(l.bounded(), 1)
	require.NoError(t, err)
	_, _, err = s.TryAcquire(l.bounded(), 1)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NotErrorIs(t, err, semaphore.ErrNoCapacity)
	waiter := make(chan func() error, 1)
	go func() {
		_, release, err := s.Acquire(context.Background(), 2)
		if err != nil {
			t.Error(err)
		}
		waiter <- release
	}()
	redistest.Eventually(t, patience, func() bool { return l.other.Stats().Waiters == 1 }, "it waits")
	l.lost()
	release := received(t, waiter)
	l.sums(0, 2)
	require.NoError(t, release())
	l.sums(2, 0)
	for _, left := range []func() error{one, two} {
		require.Error(t, left(), "what Redis forgot is lost")
	}

	l.lost()
	n, err := s.Available(l.bounded())
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	l.lost()
	n, err = s.Capacity(l.bounded())
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.NoError(t, s.SetCapacity(l.bounded(), 5))
	_, six, err := s.Acquire(l.bounded(), 1)
	require.NoError(t, err)
	l.sums(4, 1)
	require.NoError(t, six())
}

func received[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatal("nobody gets a permit")
		panic("unreachable")
	}
}

// Defect G4: without a capacity nobody is served, which each call says, and one line for all that wait.
func TestNoCapacityIsSaidByEveryCallAndLoggedOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	log := new(textlog.Log)
	client, err := rlock.NewClient(l.server.Client(t), &rlock.ClientOptions{
		Logger: log.Logger(), MaxPoll: 20 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s := semaphore.New(client, l.name)
	_, err = s.Available(l.bounded())
	require.ErrorIs(t, err, semaphore.ErrNoCapacity)
	ctx, cancel := context.WithCancel(context.Background())
	var waiters sync.WaitGroup
	for range 3 {
		waiters.Go(func() {
			if _, _, err := s.Acquire(ctx, 1); err == nil {
				t.Error("there are no permits")
			}
		})
	}
	redistest.Eventually(t, patience, func() bool { return log.Count(l.name) > 0 }, "it is not logged")
	redistest.Eventually(t, patience, func() bool { return client.Stats().Waiters == 3 }, "they wait")
	require.Never(t, func() bool { return log.Count(l.name) > 1 }, 200*time.Millisecond, 20*time.Millisecond)
	cancel()
	waiters.Wait()
}

func TestBadCapacities(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for _, n := range []int64{0, -1, 1 << 31} {
		refused(t, ignore(semaphore.New(l.other, l.name, semaphore.Capacity(n)).Acquire(l.bounded(), 1)), "Acquire")
	}
	counting := semaphore.NewCounting(l.other, l.name, semaphore.Capacity(3))
	refused(t, counting.TryAcquire(l.bounded(), 1), "counting")
}

// Defect G4: a call that is refused beside one that waits is told that there is no capacity, however many permits either wants.
func TestNoCapacityIsSaidBesideAWaiter(t *testing.T) {
	t.Parallel()
	for _, waits := range []int64{1, 3} {
		t.Run(strconv.FormatInt(waits, 10), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil)
			log := new(textlog.Log)
			client, err := rlock.NewClient(l.server.Client(t), &rlock.ClientOptions{
				Logger: log.Logger(),
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			s := semaphore.New(client, l.name)
			ctx, cancel := context.WithCancel(context.Background())
			var waiter sync.WaitGroup
			waiter.Go(func() {
				if _, _, err := s.Acquire(ctx, waits); err == nil {
					t.Error("there are no permits")
				}
			})
			redistest.Eventually(t, patience, func() bool { return log.Count(l.name) > 0 }, "nobody was refused")
			for _, n := range []int64{1, 2, 3, 4} {
				_, _, err := s.TryAcquire(l.bounded(), n)
				require.ErrorIs(t, err, semaphore.ErrNoCapacity, n)
				require.ErrorIs(t, err, rlock.ErrBusy, n)
				_, _, err = semaphore.New(client, l.name, rlock.MaxWait(10*time.Millisecond)).Acquire(l.bounded(), n)
				require.ErrorIs(t, err, semaphore.ErrNoCapacity, n)
			}
			cancel()
			waiter.Wait()
		})
	}
}
