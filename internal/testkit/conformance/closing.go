package conformance

import (
	"context"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

var closing = []contract{
	{"CloseRefusesNewCalls", 0, closeRefuses},
	{"CloseEndsWhatIsHeldAndReleasesIt", 0, closeReleases},
	{"CloseEndsWaits", 0, closeEndsWaits},
}

func closeRefuses(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	free(t, l)
	require.NoError(t, lab.Close(0), "nothing was held")
	ctx := within(t)
	tries := []func(context.Context) (context.Context, func() error, error){
		l.Lock, l.TryLock, lab.Lock(0, name(t)).Lock,
	}
	sendsNothing(t, lab, func() {
		for _, try := range tries {
			same, unlock, err := try(ctx)
			only(t, err, lock.ErrClosed)
			refused(t, ctx, same, unlock)
		}
		only(t, l.Do(ctx, func(context.Context) error { return nil }), lock.ErrClosed)
	}, "the client is closed")
	free(t, lab.Lock(1, n))
}

func closeReleases(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	held, unlock := take(t, within(t), l)
	err := lab.Close(0)
	require.ErrorContains(t, err, n, "the error names what was still held")
	require.ErrorIs(t, context.Cause(held), lock.ErrClosed)
	free(t, lab.Lock(1, n))
	_, err = l.Held(held)
	require.ErrorIs(t, err, lock.ErrClosed)
	only(t, unlock(), lock.ErrClosed)
	only(t, unlock(), lock.ErrNotHeld)
	require.NoError(t, lab.Close(0), "a second Close does nothing")
}

// One caller waits for another client; the others queue behind it.
func closeEndsWaits(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(1, n))
	const waiters = 3
	results := make(chan error, waiters)
	for range waiters {
		go func() {
			_, _, err := lab.Lock(0, n).Lock(within(t))
			results <- err
		}()
	}
	busy(t, lab.Lock(0, n), "another client holds it")
	require.NoError(t, lab.Close(0))
	for range waiters {
		only(t, await(t, results, "a waiter learns of Close"), lock.ErrClosed)
	}
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}
