package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A handle is constant: calls with the same name and options may have the same one, and those with others may not.
func TestHandlesOfANameHaveTheirOwnOptions(t *testing.T) {
	t.Parallel()
	client := conductClient(t, redistest.Shared(t).Addr(), nil)
	name := redistest.Key(t)
	bad := rlock.New(client, name, rlock.Keep(time.Nanosecond))
	_, _, err := bad.TryLock(conductCtx(t))
	var argument *rlock.ArgumentError
	require.ErrorAs(t, err, &argument)

	fixed := func(d time.Duration) *rlock.Lock { return rlock.New(client, name, rlock.FixedLease(d)) }
	first := fixed(time.Minute)
	require.Same(t, first, fixed(time.Minute))
	require.NotSame(t, first, fixed(2*time.Minute))
	require.NotSame(t, first, rlock.New(client, name))
	require.NotSame(t, first, rlock.New(client, name+"2", rlock.FixedLease(time.Minute)))
	for _, lease := range []time.Duration{time.Minute, 2 * time.Minute} {
		start := time.Now()
		held, unlock := conductTake(t, conductCtx(t), fixed(lease))
		hold, err := first.Held(held)
		require.NoError(t, err)
		require.WithinDuration(t, start.Add(lease), hold.ValidUntil, 20*time.Second) // less what clocks may differ by
		require.NoError(t, unlock())
	}
}
