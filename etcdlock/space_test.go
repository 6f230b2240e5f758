package etcdlock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/lock"
)

// full has a server's database reach its quota, so that it takes no more writes.
func full(t *testing.T, plain *clientv3.Client) {
	t.Helper()
	eventually(t, func() bool {
		_, err := plain.Put(within(t), "filler", strings.Repeat("x", 1<<20))
		return err != nil && strings.Contains(err.Error(), "database space exceeded")
	}, "the database is full")
}

// A server without space grants nothing, and says so at once. What is held stays, and can be unlocked.
func TestAServerWithoutSpace(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--quota-backend-bytes=16777216")
	plain := connect(t, server.Endpoint())
	faults := &wire{}
	c := client(t, connect(t, server.Endpoint(), faults.options()...), etcdlock.Options{Lease: brief})
	fresh := client(t, connect(t, server.Endpoint()), etcdlock.Options{Lease: brief})
	held, unlock := take(t, c.Lock("held"))
	waiting := waits(t, plain, c.Lock("held"), 1)
	eventually(t, func() bool { return c.Stats().Waiters == 1 }, "it waits")
	full(t, plain)
	for _, of := range []*etcdlock.Client{c, fresh} {
		for _, name := range []string{"Lock", "TryLock"} {
			err := calls[name](within(t), of)
			require.ErrorIs(t, err, lock.ErrUnavailable)
			require.Contains(t, err.Error(), "database space exceeded")
		}
	}
	require.Equal(t, lock.LevelFailure, levels(etcdlock.Check(within(t), c))["space"])
	before := faults.Count(renewing)
	eventually(t, func() bool { return faults.Count(renewing) >= before+4 }, "renewals")
	require.NoError(t, held.Err(), "it is renewed")
	require.NoError(t, unlock())
	require.ErrorIs(t, await(t, waiting, "the next has to ask").err, lock.ErrUnavailable)
	require.Empty(t, keysOf(t, plain, "held/"))

	got, err := plain.Get(within(t), "filler")
	require.NoError(t, err)
	_, err = plain.Compact(within(t), got.Header.Revision)
	require.NoError(t, err)
	_, err = plain.Defragment(within(t), server.Endpoint())
	require.NoError(t, err)
	_, err = plain.AlarmDisarm(within(t), &clientv3.AlarmMember{})
	require.NoError(t, err)
	taken(t, c.Lock("a"))
	taken(t, fresh.Lock("a"))
}

// What was given up while there is no space is not left behind.
func TestAnAcquisitionThatIsGivenUpWithoutSpace(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--quota-backend-bytes=16777216")
	plain := connect(t, server.Endpoint())
	faults := &wire{}
	c := client(t, connect(t, server.Endpoint(), faults.options()...), etcdlock.Options{Lease: never})
	taken(t, c.Lock("a"))
	rule := faults.On(acquiring, fates.CutAfter)
	faults.OnEach(acquiring, fates.Lost, -1)
	failing := faults.OnEach(releasing, fates.Lost, -1)
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	rule.Wait(t)
	failing.Wait(t)
	require.Len(t, keysOf(t, plain, "a/"), 1)
	full(t, plain)
	faults.Off()
	stand(t, plain, "a", 0)
}
