package latch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

// A count with an expiry is kept for that long, no matter who counts, and its end opens the latch. Nobody polls.
func TestACountEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client := lab.Client(&rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
		l, ctx := latch.New(client, "latch"), t.Context()
		began := time.Now()
		require.NoError(t, l.SetFor(ctx, 3, time.Minute))
		require.ErrorIs(t, l.Set(ctx, 5), rlock.ErrBusy)
		require.NoError(t, l.CountDown(ctx))
		require.NoError(t, l.Wait(ctx))
		require.InDelta(t, time.Minute, time.Since(began), float64(time.Second))
		count, err := l.Count(ctx)
		require.NoError(t, err)
		require.Zero(t, count)
		require.NoError(t, l.Set(ctx, 1), "which stays")
		time.Sleep(2 * time.Minute)
		count, err = l.Count(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(1), count)
		require.NoError(t, l.Delete(ctx))
	})
}

func TestACountEndsByItselfInRedis(t *testing.T) {
	t.Parallel()
	l := newLab(t, redistest.Shared(t), 0)
	client := newClient(t, l.server.Addr(), &rlock.ClientOptions{Lease: time.Hour, MaxPoll: time.Hour})
	one := latch.New(client, l.name)
	require.NoError(t, one.SetFor(t.Context(), 3, time.Hour))
	require.NoError(t, one.CountDown(t.Context()))
	require.InDelta(t, time.Hour, l.direct.PTTL(t.Context(), l.name).Val(), float64(10*time.Minute), "it is kept")
	require.NoError(t, one.Delete(t.Context()))
	require.NoError(t, one.SetFor(t.Context(), 3, 200*time.Millisecond))
	require.NoError(t, one.Wait(l.bounded()), "no message told it")
	require.Zero(t, l.direct.Exists(t.Context(), l.name).Val())
	require.NoError(t, one.Set(t.Context(), 2))
	require.Equal(t, time.Duration(-1), l.direct.PTTL(t.Context(), l.name).Val())

	var bad *rlock.ArgumentError
	require.ErrorAs(t, one.SetFor(t.Context(), 3, time.Millisecond), &bad)
	require.ErrorAs(t, one.SetFor(t.Context(), 0, time.Hour), &bad)
}
