package zklock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
	protocol "github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// counted is a server on which below the node of lock "a" nearly as many nodes were made as can be counted. The ACL is
// that of the node above it. A node "other" keeps servers from deleting that of the lock.
func counted(t *testing.T, above []protocol.ACL) *zktest.Server {
	t.Helper()
	server := zktest.Start(t, zktest.Options{JVM: []string{"-Dznode.container.checkIntervalMs=1000"}})
	plain := connect(t, server.Addr())
	require.NoError(t, plain.asks(t, protocol.Create("/holdfast", nil, anyone)).Err)
	require.NoError(t, plain.asks(t, protocol.Create("/holdfast/locks", nil, above)).Err)
	require.NoError(t, plain.asks(t, protocol.Container(pathOf("a"), anyone)).Err)
	require.NoError(t, plain.asks(t, protocol.Create(pathOf("a/other"), nil, anyone)).Err)
	server.Count(t, pathOf("a"), math.MaxInt32-1)
	return server
}

// Behind 2^31 nodes a server gives the same number to several. A lock has one holder all the same, tokens go on, and
// its nodes are counted anew. (defect G70)
func TestALockOfWhichNodesCannotBeCountedAnyMore(t *testing.T) {
	t.Parallel()
	server := counted(t, anyone)
	var all []*zklock.Client
	for range 3 {
		all = append(all, client(t, zklock.Options{}, server.Addr()))
	}
	plain := connect(t, server.Addr())
	var tokens []int64
	for i := range 6 {
		one, other, third := all[i%3], all[(i+1)%3], all[(i+2)%3]
		held, unlock := take(t, one.Lock("a"))
		if i == 0 {
			plain.deletes(t, pathOf("a/other"))
		}
		tokens = append(tokens, fenceOf(t, one.Lock("a"), held))
		_, _, err := other.Lock("a").TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrBusy)
		got := make(chan turn, 1)
		go func() {
			held, unlock, err := third.Lock("a").Lock(within(t))
			got <- turn{held, unlock, err}
		}()
		eventually(t, func() bool { return third.Stats().Waiters == 1 }, "it waits")
		require.NoError(t, held.Err())
		require.NoError(t, unlock())
		next := has(t, got)
		tokens = append(tokens, fenceOf(t, third.Lock("a"), next.held))
		_, _, err = other.Lock("a").TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrBusy)
		require.NoError(t, next.unlock())
	}
	require.IsIncreasing(t, tokens)
	require.Empty(t, plain.children(t, pathOf("a")))
}

// Where the lock's node cannot be deleted, because a lock below it is in use, that is told. It can when servers have
// deleted what nobody uses. (defect G70)
func TestALockOfWhichNodesCannotBeCountedAboveAnother(t *testing.T) {
	t.Parallel()
	server := counted(t, anyone)
	c := client(t, zklock.Options{}, server.Addr())
	plain := connect(t, server.Addr())
	held, unlock := take(t, c.Lock("a"))
	last := fenceOf(t, c.Lock("a"), held)
	_, below := take(t, c.Lock("a/b"))
	plain.deletes(t, pathOf("a/other"))
	require.NoError(t, unlock())
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrKeyConflict)
	require.ErrorContains(t, err, "was taken 2^31 times")
	require.Len(t, plain.children(t, pathOf("a")), 1, "that of the lock below is in use")
	require.NoError(t, below())
	eventually(t, func() bool {
		held, unlock, err := c.Lock("a").TryLock(within(t))
		if err != nil {
			require.ErrorIs(t, err, lock.ErrKeyConflict)
			return false
		}
		require.Greater(t, fenceOf(t, c.Lock("a"), held), last)
		require.NoError(t, unlock())
		return true
	}, "the nodes of both are gone")
}

// A client that may not delete the lock's node waits for the servers, which do that. (defect G70)
func TestALockOfWhichNodesCannotBeCountedWithoutARight(t *testing.T) {
	t.Parallel()
	server := counted(t, []protocol.ACL{{Perms: zklock.PermAll &^ zklock.PermDelete, Scheme: "world", ID: "anyone"}})
	c := client(t, zklock.Options{}, server.Addr())
	_, unlock := take(t, c.Lock("a"))
	connect(t, server.Addr()).deletes(t, pathOf("a/other"))
	require.NoError(t, unlock())
	taken(t, c.Lock("a"))
}

// The nodes are counted anew though what does that is lost, or the answer. (defect G70)
func TestALockWhoseNodesAreCountedAnewUnheard(t *testing.T) {
	t.Parallel()
	for way, fate := range failures {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			server, faults := counted(t, anyone), &wire{}
			c := client(t, zklock.Options{Dial: faults.Dial}, server.Addr())
			plain := connect(t, server.Addr())
			held, unlock := take(t, c.Lock("a"))
			last := fenceOf(t, c.Lock("a"), held)
			plain.deletes(t, pathOf("a/other"))
			require.NoError(t, unlock())
			rule := faults.On(releasing, fate)
			held, unlock = take(t, c.Lock("a"))
			rule.Wait(t)
			require.Greater(t, fenceOf(t, c.Lock("a"), held), last)
			require.NoError(t, unlock())
			require.Empty(t, plain.children(t, pathOf("a")))
		})
	}
}
