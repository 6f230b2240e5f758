package etcdlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
)

// A lock that was held when a snapshot was taken, and released since, is there again when that is restored, under the
// lease of a client that lives and does not hold it. The client deletes it, and says so; nobody else ever would.
// (defect G25)
func TestALockThatIsBackAndThatNobodyHolds(t *testing.T) {
	t.Parallel()
	for who, asks := range map[string]func(t *testing.T, owner, other *etcdlock.Client){
		"another client asks": func(t *testing.T, _, other *etcdlock.Client) { taken(t, other.Lock("ghost")) },
		"its own asks":        func(t *testing.T, owner, _ *etcdlock.Client) { taken(t, owner.Lock("ghost")) },
	} {
		t.Run(who, func(t *testing.T) {
			server, said := etcdtest.Start(t), new(textlog.Log)
			c := client(t, connect(t, server.Endpoint()), etcdlock.Options{
				Lease: 4 * brief, Logger: said.Logger(),
			})
			held, unlock := take(t, c.Lock("held")) // for which it renews its lease
			_, release := take(t, c.Lock("ghost"))
			snapshot := server.Snapshot(t)
			require.NoError(t, release())
			server.Rewind(t, snapshot, "--bump-revision=1000000", "--mark-compacted")
			asks(t, c, client(t, connect(t, server.Endpoint()), etcdlock.Options{Lease: 4 * brief}))
			require.NoError(t, held.Err())
			require.NoError(t, unlock())
			require.Contains(t, said.String(), "deleted the key of a lock")
			require.Contains(t, said.String(), "ghost/")
		})
	}
}

// A holder is told at once that etcd went on from a snapshot in which its lock is not, and one whose lock is there goes
// on: neither needs to wait for its next renewal, or for a call. (defect G20)
func TestAnEtcdThatIsNotWhatItWas(t *testing.T) {
	t.Parallel()
	for what, flags := range map[string][]string{
		"an earlier revision": nil, "another cluster": {"--initial-cluster-token=another"},
		"a later revision": {"--bump-revision=1000000", "--mark-compacted"},
	} {
		t.Run(what, func(t *testing.T) {
			server, said := etcdtest.Start(t), new(textlog.Log)
			c := client(t, connect(t, server.Endpoint()), etcdlock.Options{
				Lease: never, Logger: said.Logger(),
			})
			early, unlock := take(t, c.Lock("early"))
			snapshot := server.Snapshot(t)
			late, _ := take(t, c.Lock("late"))
			eventually(t, func() bool { n, err := server.Watches(); return err == nil && n == 2 }, "both are watched")
			server.Rewind(t, snapshot, flags...)
			_ = ended(t, late)
			requireGone(t, late)
			require.NoError(t, early.Err())
			require.NoError(t, unlock())
			taken(t, c.Lock("late"))
			if what != "a later revision" { // which nothing tells from one that others have made
				require.Contains(t, said.String(), "etcd is not what it was")
			}
		})
	}
}

// Endpoints of two clusters are refused by the first call, with words: each of them would grant the same lock.
// (defects G20 and G29)
func TestEndpointsOfTwoClusters(t *testing.T) {
	t.Parallel()
	a, b := etcdtest.Start(t), etcdtest.Start(t)
	c := client(t, connectAs(t, clientv3.Config{Endpoints: []string{a.Endpoint(), b.Endpoint()}}), etcdlock.Options{})
	for name, call := range calls {
		err := call(within(t), c)
		require.ErrorIs(t, err, lock.ErrUnavailable, name)
		require.ErrorContains(t, err, "different clusters", name)
		require.ErrorContains(t, err, a.Endpoint(), name)
		require.ErrorContains(t, err, b.Endpoint(), name)
	}
	require.Equal(t, lock.LevelFailure, levels(etcdlock.Check(within(t), c))["trial"])
	require.NoError(t, c.Close())
	require.Empty(t, a.Keys(t, ""))
	require.Empty(t, b.Keys(t, ""))
}
