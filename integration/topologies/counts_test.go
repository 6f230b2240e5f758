package topologies

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// Primitives without owners count exactly on every topology where they make sense, and a waiter in another process is
// woken by a message: nothing else can wake it here.
func TestCountsAndMessages(t *testing.T) {
	for _, top := range topologies[:4] {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			s := top.start(t)
			opts := rlock.ClientOptions{MaxPoll: never}
			here, there := s.process(t, opts), s.process(t, opts)
			for _, name := range []string{"count", "{tag}:count"} {
				counted(t, here, there, name+":semaphore")
				if name != "count" && s.cluster != nil { // Redisson would derive a name of another slot from it
					var bad *rlock.ArgumentError
					require.ErrorAs(t, latch.New(here.client, name).Set(within(t), 1), &bad)
					continue
				}
				latched(t, here, there, name+":latch")
			}
		})
	}
}

func latched(t *testing.T, here, there *process, name string) {
	t.Helper()
	ctx := within(t)
	ours, theirs := latch.New(here.client, name), latch.New(there.client, name)
	require.NoError(t, ours.Set(ctx, 3))
	require.ErrorIs(t, theirs.Set(ctx, 1), rlock.ErrBusy)
	done := beside(t, there, func() error { return theirs.Wait(ctx) })
	for left := range int64(3) {
		count, err := theirs.Count(ctx)
		require.NoError(t, err)
		require.Equal(t, 3-left, count)
		requireWaits(t, done)
		require.NoError(t, ours.CountDown(ctx))
	}
	require.NoError(t, <-done)
	require.NoError(t, ours.Wait(ctx), "it is open")
}

func counted(t *testing.T, here, there *process, name string) {
	t.Helper()
	ctx := within(t)
	ours, theirs := semaphore.NewCounting(here.client, name), semaphore.NewCounting(there.client, name)
	require.NoError(t, ours.Set(ctx, 3))
	require.NoError(t, ours.Acquire(ctx, 2))
	require.ErrorIs(t, theirs.TryAcquire(ctx, 2), rlock.ErrBusy)
	done := beside(t, there, func() error { return theirs.Acquire(ctx, 2) })
	requireWaits(t, done)
	require.NoError(t, ours.Release(ctx, 2))
	require.NoError(t, <-done)
	free, err := ours.Available(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, free)
	drained, err := theirs.Drain(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, drained)
	require.NoError(t, theirs.Release(ctx, 3))
}

// beside starts a call and returns once it waits, or is over.
func beside(t *testing.T, p *process, call func() error) <-chan error {
	t.Helper()
	before, done := p.waits(), make(chan error, 1)
	go func() { done <- call() }()
	redistest.Eventually(t, patience, func() bool { return p.waits() > before || len(done) > 0 }, "it does not wait")
	return done
}

// requireWaits checks that a call did not return.
func requireWaits(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		require.NoError(t, errors.Join(errors.New("it did not wait"), err))
	default:
	}
}
