package zklock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
	protocol "github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// locking are the calls that take a lock.
var locking = map[string]func(t *testing.T, l *lock.Lock) error{
	"Lock":    func(t *testing.T, l *lock.Lock) error { _, _, err := l.Lock(within(t)); return err },
	"TryLock": func(t *testing.T, l *lock.Lock) error { _, _, err := l.TryLock(within(t)); return err },
}

// ZooKeeper refuses emoji and more in a path, and a name that is one is a lock all the same: one of its own, that List
// tells by its name.
func TestNamesThatZooKeeperRefuses(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	all := []*zklock.Client{client(t, zklock.Options{}, server.Addr()), client(t, zklock.Options{}, server.Addr())}
	names := []string{
		"\U0001F512", "a b", "a\x00b", "a\nb", "\x7f", "\ue000", "\uf8ff", "\ufff0", "\uffff", "\xff\xfe", "%", "%41", "A",
		".", "..", "/", "//", "/a", "a/", "a//b", "a/./b", "a/../b", "ä/ß", "zookeeper/quota", "order:1234567890",
		"a/order:1234567890", "a/x-lock-0000000001", "a/--2147483648", "a/__lock__-000000001", "a",
	}
	held := make(map[string]bool)
	for _, name := range names {
		_, _ = take(t, all[0].Lock(name))
		_, _, err := all[1].Lock(name).TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrBusy, "%q", name)
	}
	for entry, err := range zklock.List(within(t), all[1], "") {
		require.NoError(t, err)
		held[entry.Name] = true
	}
	require.Len(t, held, len(names))
	for _, name := range names {
		require.True(t, held[name], "%q", name)
	}
}

// The root of ZooKeeper may be that of locks.
func TestLocksBelowTheRoot(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	c := client(t, zklock.Options{Root: "/", Own: "/"}, server.Addr())
	for _, name := range []string{"a", "a/b", "zookeeper", "base"} {
		_, _ = take(t, c.Lock(name))
	}
	var names []string
	for entry, err := range zklock.List(within(t), c, "") {
		require.NoError(t, err)
		names = append(names, entry.Name)
	}
	require.Equal(t, []string{"a", "a/b", "base", "zookeeper"}, names)
}

// A node of no session would never free the lock. It is told, and Break ends it.
func TestANodeThatIsNoLocks(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, zklock.Options{})
	name := nameOf(t)
	l := all[0].Lock(name)
	taken(t, l)
	for _, there := range []string{"setting-0000000000", "id:1.1f-lock-0000000000"} {
		require.NoError(t, plain.asks(t, protocol.Create(pathOf(name)+"/"+there, nil, anyone)).Err)
		for what, call := range locking {
			err := call(t, l)
			require.ErrorIs(t, err, lock.ErrKeyConflict, what)
			require.Contains(t, err.Error(), fmt.Sprintf("%q", pathOf(name)+"/"+there))
			plain.stand(t, pathOf(name), 1) // nothing is left behind
		}
		require.NoError(t, l.Break(within(t)))
		taken(t, l)
	}
}

// A lock and one whose name is below its own are two, and so are other nodes there.
func TestNamesBelowOneAnother(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, zklock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name+"/below/0000000001"))
	require.NoError(t, plain.asks(t, protocol.Create(pathOf(name)+"/config", nil, anyone)).Err)
	taken(t, all[1].Lock(name))
	taken(t, all[1].Lock(name+"/below"))
	require.NoError(t, unlock())
}
