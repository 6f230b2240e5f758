package etcdlock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/lock"
)

// leases are those that etcd knows.
func leases(t testing.TB, plain *clientv3.Client) (all []clientv3.LeaseID) {
	t.Helper()
	found, err := plain.Leases(within(t))
	require.NoError(t, err)
	for _, lease := range found.Leases {
		all = append(all, lease.ID)
	}
	return all
}

// When an operator revokes the client's lease, all its holds are lost, its waiters go on, and so does the client, under
// another lease.
func TestAClientWhoseLeaseIsRevoked(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{Lease: 2 * brief})
	waited, name := nameOf(t), nameOf(t)
	_, theirs := take(t, all[1].Lock(waited))
	got := waits(t, plain, all[0].Lock(waited), 2)
	var holds []turn
	for i := range 5 {
		held, unlock := take(t, all[0].Lock(name+strconv.Itoa(i)))
		holds = append(holds, turn{held: held, unlock: unlock})
	}
	lease := leaseOf(t, plain, stand(t, plain, name+"0", 1)[0])
	_, err := plain.Revoke(within(t), lease)
	require.NoError(t, err)
	taken(t, all[0].Lock(name)) // works at once
	for i, one := range holds {
		taken(t, all[1].Lock(name+strconv.Itoa(i)))
		var loss *lock.LostError
		require.ErrorAs(t, ended(t, one.held), &loss)
		require.Equal(t, lock.LossGone, loss.Reason)
		require.ErrorIs(t, one.unlock(), lock.ErrLost)
	}
	require.NotEqual(t, lease, leaseOf(t, plain, stand(t, plain, waited, 2)[1]))
	require.NoError(t, theirs())
	turn := has(t, got)
	require.NoError(t, turn.held.Err())
	require.NoError(t, turn.unlock())
}

// A client that held nothing for longer than its lease has no lease any more, and its first try notices none of that.
func TestAClientThatWasIdle(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, etcdlock.Options{Lease: brief})
	l := all[0].Lock(nameOf(t))
	_, unlock := take(t, l)
	lease := leaseOf(t, plain, stand(t, plain, l.Name(), 1)[0])
	require.NoError(t, unlock())
	eventually(t, func() bool {
		left, err := plain.TimeToLive(within(t), lease)
		return err == nil && left.TTL < 0
	}, "the lease ends")
	held, unlock, err := l.TryLock(within(t))
	require.NoError(t, err)
	require.NotEqual(t, lease, leaseOf(t, plain, stand(t, plain, l.Name(), 1)[0]))
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// A hold that is renewed outlives its lease, and so does one with a lease of its own that is shorter.
func TestAHoldThatIsRenewed(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	c := client(t, connect(t, etcdtest.Shared(t).Endpoint(), faults.options()...), etcdlock.Options{Lease: 2 * brief})
	name := nameOf(t)
	held, unlock := take(t, c.Lock(name))
	short, end := take(t, c.Lock(name+"-short", lock.Lease(brief)))
	eventually(t, func() bool { return faults.Count(renewing) >= 5 }, "renewals")
	require.NoError(t, held.Err())
	require.NoError(t, short.Err())
	require.NoError(t, unlock())
	require.NoError(t, end())
}

// A client that is closed leaves nothing in etcd but the base of tokens: no key, no seal, no lease.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	plain := connect(t, server.Endpoint())
	faults := &wire{}
	a := client(t, connect(t, server.Endpoint(), faults.options()...), etcdlock.Options{})
	b := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	_, unlock := take(t, b.Lock("theirs"))
	held, _ := take(t, a.Lock("held"))
	waiting := waits(t, plain, a.Lock("theirs"), 2)
	abandoned, cancel := context.WithCancel(within(t))
	rule := faults.On(acquiring, fates.Silence)
	left := make(chan error, 1)
	go func() {
		_, _, err := a.Lock("left").Lock(abandoned)
		left <- err
	}()
	stand(t, plain, "left", 1)
	cancel()
	require.ErrorIs(t, await(t, left, "it leaves"), context.Canceled)

	require.ErrorContains(t, a.Close(), `"held"`)
	rule.Wait(t)
	require.ErrorIs(t, await(t, waiting, "a waiter").err, lock.ErrClosed)
	require.ErrorIs(t, context.Cause(held), lock.ErrClosed)
	require.Len(t, keysOf(t, plain, ""), 2, "those of the other client")
	require.NoError(t, unlock())
	require.NoError(t, b.Close())
	require.Equal(t, []string{"holdfast/base"}, keysOf(t, plain, ""))
	require.Empty(t, leases(t, plain))
}

// A server that stands still holds up neither those who leave, nor Close, and what was there ends with its lease.
func TestCloseOfAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	opts := etcdlock.Options{Lease: 2 * brief, ReleaseTimeout: time.Second}
	c := client(t, connect(t, server.Endpoint()), opts)
	plain := connect(t, server.Endpoint())
	other := client(t, connect(t, server.Endpoint()), opts)
	_, _ = take(t, other.Lock("theirs"))
	held, _ := take(t, c.Lock("held"))
	_, unlock := take(t, c.Lock("unlocked"))
	got := waits(t, plain, c.Lock("theirs"), 2)
	server.Freeze()
	require.ErrorIs(t, unlock(), lock.ErrUnconfirmed)
	require.NoError(t, held.Err())
	require.ErrorContains(t, c.Close(), `"held"`)
	require.ErrorIs(t, await(t, got, "a waiter").err, lock.ErrClosed)
	require.ErrorContains(t, other.Close(), `"theirs"`)
	require.ErrorIs(t, context.Cause(held), lock.ErrClosed)
	server.Thaw()
	next := client(t, plain, etcdlock.Options{})
	taken(t, next.Lock("held"))
	taken(t, next.Lock("unlocked"))
	taken(t, next.Lock("theirs"))
	require.NoError(t, next.Close())
	eventually(t, func() bool { return len(leases(t, plain)) == 0 }, "no lease is left")
	require.Equal(t, []string{"holdfast/base"}, keysOf(t, plain, ""))
}
