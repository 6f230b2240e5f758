package numbers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// limit bounds every wait for something that must happen. Nothing is measured against it.
const limit = time.Minute

// within returns a context for a call that must succeed, so that a hang becomes a failure.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// Clients are two clients on one store, for what nobody holds: numbers that are counted, and waited for.
type Clients [2]*rlock.Client

// Run checks what latches and counting semaphores promise.
func Run(t *testing.T, open func(t testing.TB) Clients) {
	run(t, open, func(t *testing.T, check func(t *testing.T)) { check(t) })
}

// RunVirtually is Run for a store in memory; see [conformance.RunVirtually].
func RunVirtually(t *testing.T, open func(t testing.TB) Clients) {
	run(t, open, synctest.Test)
}

func run(t *testing.T, open func(t testing.TB) Clients, in func(*testing.T, func(*testing.T))) {
	for name, check := range map[string]func(t *testing.T, clients Clients){
		"CountingPermitsAreTakenAndComeBack": countingIsANumber,
		"CountingWakesWhoWaits":              countingWakes,
		"CountingServesItsProcessInOrder":    countingInOrder,
		"LatchOpensWithTheLastCountDown":     latchOpens,
		"LatchThatCountsIsNotSetAgain":       latchIsSetOnce,
		"LatchIsOpenedByItsDeletion":         latchIsDeleted,
		"LatchWaitEndsWithItsContext":        latchWaitEnds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) { check(t, open(t)) })
		})
	}
}

func countingIsANumber(t *testing.T, clients Clients) {
	ctx, n := within(t), servers.Key(t)
	one, other := semaphore.NewCounting(clients[0], n), semaphore.NewCounting(clients[1], n)
	left := func(want int64, why string) {
		t.Helper()
		for _, s := range []*semaphore.Counting{one, other} {
			free, err := s.Available(ctx)
			require.NoError(t, err)
			require.Equal(t, want, free, why)
		}
	}
	left(0, "there is none")
	require.ErrorIs(t, one.TryAcquire(ctx, 1), rlock.ErrBusy)
	require.NoError(t, one.Set(ctx, 3))
	require.ErrorIs(t, other.Set(ctx, 5), rlock.ErrBusy)
	require.NoError(t, other.TryAcquire(ctx, 2))
	require.ErrorIs(t, one.TryAcquire(ctx, 2), rlock.ErrBusy)
	left(1, "two were taken, and a refusal takes none")
	require.NoError(t, one.Release(ctx, 4))
	left(5, "no matter who took them")
	drained, err := other.Drain(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(5), drained)
	drained, err = one.Drain(ctx)
	require.NoError(t, err)
	require.Zero(t, drained)
	left(0, "all are taken")
	require.NoError(t, one.Delete(ctx))
	require.NoError(t, other.Set(ctx, 1), "there is none")
	var bad *rlock.ArgumentError
	require.ErrorAs(t, one.Release(ctx, 1<<31-1), &bad)
	require.Equal(t, "must be at most 2147483646 now", bad.Problem)
	left(1, "more than can be counted were refused")
	require.NoError(t, one.AddCapacity(ctx, -6))
	left(-5, "permits that are taken need not be free (defect G61)")
	drained, err = one.Drain(ctx)
	require.NoError(t, err)
	require.Zero(t, drained, "none is free")
	left(-5, "five are still to be given back")
}

func countingWakes(t *testing.T, clients Clients) {
	ctx, n := within(t), servers.Key(t)
	one, other := semaphore.NewCounting(clients[0], n), semaphore.NewCounting(clients[1], n)
	require.NoError(t, one.Set(ctx, 1))
	in := make(chan error, 1)
	go func() { in <- other.Acquire(ctx, 3) }()
	require.NoError(t, one.Release(ctx, 1))
	select {
	case err := <-in:
		t.Fatalf("there are two, and three were asked for: %v", err)
	default:
	}
	require.NoError(t, one.Release(ctx, 1))
	require.NoError(t, servers.Receive(t, limit, in, "the waiter has its permits"))
}

// A caller that was refused goes before those who come later, also if it wants more than they.
func countingInOrder(t *testing.T, clients Clients) {
	ctx, n := within(t), servers.Key(t)
	s := semaphore.NewCounting(clients[0], n)
	require.NoError(t, s.Set(ctx, 1))
	in := make(chan error, 1)
	go func() { in <- s.Acquire(ctx, 2) }()
	require.Eventually(t, func() bool {
		err := s.TryAcquire(ctx, 1)
		if err == nil { // it came before the waiter was refused
			require.NoError(t, s.Release(ctx, 1))
		}
		return err != nil
	}, limit, time.Millisecond)
	require.NoError(t, s.Release(ctx, 1))
	require.NoError(t, servers.Receive(t, limit, in, "the one that waited first"))
}

func latchOpens(t *testing.T, clients Clients) {
	ctx, n := within(t), servers.Key(t)
	one, other := latch.New(clients[0], n), latch.New(clients[1], n)
	require.NoError(t, one.Wait(ctx), "it was never set")
	require.NoError(t, one.Set(ctx, 2))
	in := make(chan error, 2)
	for _, l := range []*latch.Latch{one, other} {
		go func() { in <- l.Wait(ctx) }()
	}
	require.NoError(t, other.CountDown(ctx))
	select {
	case err := <-in:
		t.Fatalf("one is left: %v", err)
	default:
	}
	left, err := one.Count(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(1), left)
	require.NoError(t, one.CountDown(ctx))
	require.NoError(t, servers.Receive(t, limit, in, "it is open"))
	require.NoError(t, servers.Receive(t, limit, in, "for both"))
	require.NoError(t, one.CountDown(ctx), "there is nothing to count")
	require.NoError(t, other.Wait(ctx))
}

func latchIsSetOnce(t *testing.T, clients Clients) {
	ctx, n := within(t), servers.Key(t)
	one, other := latch.New(clients[0], n), latch.New(clients[1], n)
	require.NoError(t, one.Set(ctx, 1))
	require.ErrorIs(t, other.Set(ctx, 2), rlock.ErrBusy)
	require.NoError(t, other.CountDown(ctx))
	require.NoError(t, other.Set(ctx, 2), "that count is over")
	left, err := one.Count(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(2), left)
}

func latchIsDeleted(t *testing.T, clients Clients) {
	ctx, n := within(t), servers.Key(t)
	one, other := latch.New(clients[0], n), latch.New(clients[1], n)
	require.NoError(t, one.Set(ctx, 7))
	in := make(chan error, 1)
	go func() { in <- other.Wait(ctx) }()
	require.NoError(t, one.Delete(ctx))
	require.NoError(t, servers.Receive(t, limit, in, "the latch is open"))
}

func latchWaitEnds(t *testing.T, clients Clients) {
	l := latch.New(clients[0], servers.Key(t))
	require.NoError(t, l.Set(within(t), 1))
	err := conformance.Answered(func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(within(t), d)
		defer cancel()
		return l.Wait(ctx)
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, rlock.ErrBusy)
}
