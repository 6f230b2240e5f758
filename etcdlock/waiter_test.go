package etcdlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// A waiter whose key somebody deletes asks again, and comes last. (A Mutex of etcd's client is deaf to that: etcd 19597, bug 53.)
func TestAWaiterWhoseKeyIsDeleted(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, etcdlock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	first := waits(t, plain, all[1].Lock(name), 2)
	second := waits(t, plain, all[2].Lock(name), 3)
	keys := stand(t, plain, name, 3)
	_, err := plain.Delete(within(t), keys[1])
	require.NoError(t, err)
	eventually(t, func() bool { return len(keysOf(t, plain, name+"/")) == 3 }, "it stands again")
	require.Equal(t, keys[2], keysOf(t, plain, name+"/")[1])
	require.NoError(t, unlock())
	unlock = has(t, second).unlock
	require.NoError(t, unlock())
	require.NoError(t, has(t, first).unlock())
}

// A waiter whose client's lease ends goes on under the client's next one.
func TestAWaiterWhoseLeaseEnds(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	got := waits(t, plain, all[1].Lock(name), 2)
	lease := leaseOf(t, plain, stand(t, plain, name, 2)[1])
	for range 3 {
		_, err := plain.Revoke(within(t), lease)
		require.NoError(t, err)
		next := leaseOf(t, plain, stand(t, plain, name, 2)[1])
		require.NotEqual(t, lease, next)
		lease = next
	}
	require.NoError(t, unlock())
	turn := has(t, got)
	require.Equal(t, lease, leaseOf(t, plain, stand(t, plain, name, 1)[0]))
	require.NoError(t, turn.held.Err())
	require.NoError(t, turn.unlock())
}

// A waiter that hears of its turn when its lease is over does not take it, however late it hears. (etcd 11456, bug 53.)
func TestAWaiterThatHearsOfItsTurnTooLate(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{})
	path := tcpproxy.Start(t, etcdtest.Shared(t).Addr())
	deaf := client(t, connect(t, "http://"+path.Addr()), etcdlock.Options{Lease: brief})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	got := waits(t, plain, deaf.Lock(name, lock.MaxWait(holding.Patience/2)), 2)
	path.Hold(tcpproxy.Replies, true)
	path.Hold(tcpproxy.Requests, true)
	require.NoError(t, unlock()) // its turn
	stand(t, plain, name, 0)     // and its lease ends
	held, release := take(t, all[1].Lock(name))
	path.Hold(tcpproxy.Replies, false)
	path.Hold(tcpproxy.Requests, false)
	eventually(t, func() bool { return len(got) > 0 || len(keysOf(t, plain, name+"/")) == 2 },
		"it gives up, or waits again")
	require.NoError(t, held.Err())
	before, err := all[1].Lock(name).Held(held)
	require.NoError(t, err)
	require.NoError(t, release())
	late := await(t, got, "it gets in, or gives up")
	if late.err != nil { // for a lease nobody answered
		require.ErrorIs(t, late.err, lock.ErrUnavailable)
		late.held, late.unlock = take(t, deaf.Lock(name))
	}
	after, err := deaf.Lock(name).Held(late.held)
	require.NoError(t, err)
	require.Greater(t, after.Fence, before.Fence)
	require.NoError(t, late.unlock())
}

// A waiter whose key, and the one before it, are watched asks rarely, for the case that the watch hears of nothing.
// (defect G29)
func TestAWaiterAsksRarely(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	all, plain := clients(t, 1, etcdlock.Options{})
	c := client(t, connect(t, etcdtest.Shared(t).Endpoint(), faults.options()...), etcdlock.Options{MaxPoll: time.Second})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	got := waits(t, plain, c.Lock(name), 2)
	began := time.Now()
	eventually(t, func() bool { return time.Since(began) > 5*time.Second }, "time to ask")
	require.LessOrEqual(t, faults.Count(reading), 2+2*int(time.Since(began)/time.Second))
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
}
