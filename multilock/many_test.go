package multilock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// most is how many locks New documents that it takes.
const most = 1000

func manyNames(t *testing.T, n int) []string {
	all, base := make([]string, n), redistest.Key(t)
	for i := range all {
		all[i] = fmt.Sprintf("%s:%04d", base, i)
	}
	return all
}

// defect C6: a script cannot take more than some 7,900 names, and that was told as a Redis that is
// unavailable. There is a documented maximum; more are a bad argument, and nothing is sent.
func TestTooManyLocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := clientAt(t, server.Addr(), nil)
	for _, n := range []int{8100, most + 1} {
		_, unlock, err := multilock.New(locks(c, manyNames(t, n)...)).TryLock(within(t))
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad, "%d locks", n)
		require.Equal(t, "locks", bad.Name)
		require.EqualError(t, err, fmt.Sprintf("holdfast: locks must have at most %d members (got %d)", most, n))
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
	require.Zero(t, server.Calls(t, "evalsha")+server.Calls(t, "eval"))
}

// The maximum is taken as one: by one script, all or nothing, and given back whole.
func TestAsManyLocksAsThereMayBe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c, rival, n := clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil), manyNames(t, most)
	m := multilock.New(locks(c, n...))
	_, unlock, err := rlock.New(rival, n[most-1]).Lock(within(t))
	require.NoError(t, err)
	_, _, err = m.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)
	held, err := server.Client(t).Exists(within(t), n[:most-1]...).Result()
	require.NoError(t, err)
	require.Zero(t, held, "nothing was taken")
	require.NoError(t, unlock())

	_, unlock, err = m.TryLock(within(t))
	require.NoError(t, err)
	held, err = server.Client(t).Exists(within(t), n...).Result()
	require.NoError(t, err)
	require.Equal(t, int64(most), held)
	require.NoError(t, unlock())
	held, err = server.Client(t).Exists(within(t), n...).Result()
	require.NoError(t, err)
	require.Zero(t, held)
}
