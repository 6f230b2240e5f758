package etcdlock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/lock"
)

// locking are the calls that take a lock.
var locking = map[string]func(t *testing.T, l *lock.Lock) error{
	"Lock":    func(t *testing.T, l *lock.Lock) error { _, _, err := l.Lock(within(t)); return err },
	"TryLock": func(t *testing.T, l *lock.Lock) error { _, _, err := l.TryLock(within(t)); return err },
}

// Locks of which the name of one is a folder of the other's are told, as soon as one finds the other before it.
func TestNamesThatAreFolders(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name+"/below"))
	for what, call := range locking {
		err := call(t, all[1].Lock(name))
		require.ErrorIs(t, err, lock.ErrKeyConflict, what)
		require.Contains(t, err.Error(), fmt.Sprintf("%q", name))
		require.Contains(t, err.Error(), "none is a folder of another")
		stand(t, plain, name, 1) // nothing is left behind
	}
	require.NoError(t, unlock())
	taken(t, all[1].Lock(name))
}

// A key that hangs on no lease would never free the lock. It is told, and Break ends it.
func TestAKeyThatIsNoLocks(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, etcdlock.Options{})
	name := nameOf(t)
	_, err := plain.Put(within(t), name+"/setting", "on")
	require.NoError(t, err)
	for what, call := range locking {
		err := call(t, all[0].Lock(name))
		require.ErrorIs(t, err, lock.ErrKeyConflict, what)
		require.Contains(t, err.Error(), fmt.Sprintf("%q", name+"/setting"))
		stand(t, plain, name, 1)
	}
	info, err := all[0].Lock(name).Inspect(within(t))
	require.NoError(t, err)
	require.Equal(t, "setting", info.Holders[0].ID)
	require.Negative(t, info.Holders[0].TTL, "no expiry")
	require.NoError(t, all[0].Lock(name).Break(within(t)))
	taken(t, all[0].Lock(name))
}

// The client's own keys are no lock's.
func TestNamesBelowThePrefix(t *testing.T) {
	t.Parallel()
	all, _ := clients(t, 1, etcdlock.Options{})
	for _, name := range []string{"holdfast", "holdfast/base", "holdfast/sealed", "holdfast/a/b"} {
		for _, call := range locking {
			var bad *lock.ArgumentError
			require.ErrorAs(t, call(t, all[0].Lock(name)), &bad)
			require.Equal(t, "name", bad.Name)
			require.Contains(t, bad.Problem, "Options.Prefix")
		}
	}
	taken(t, all[0].Lock("holdfast-"+nameOf(t)))
}
