package etcdlock_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/lock"
)

// Whatever ends a hold, the waiter hears of it at once: nobody polls here.
func TestAWaiterHearsOfTheEnd(t *testing.T) {
	t.Parallel()
	type lab struct {
		holder *etcdlock.Client
		lock   *lock.Lock
		turn   turn
		plain  *clientv3.Client
	}
	for way, end := range map[string]func(t *testing.T, l lab){
		"unlock": func(t *testing.T, l lab) { require.NoError(t, l.turn.unlock()) },
		"break":  func(t *testing.T, l lab) { require.NoError(t, l.lock.Break(within(t))) },
		"close":  func(t *testing.T, l lab) { require.ErrorContains(t, l.holder.Close(), l.lock.Name()) },
		"deletion": func(t *testing.T, l lab) {
			_, err := l.plain.Delete(within(t), keysOf(t, l.plain, l.lock.Name()+"/")[0])
			require.NoError(t, err)
		},
		"revocation": func(t *testing.T, l lab) {
			_, err := l.plain.Revoke(within(t), leaseOf(t, l.plain, keysOf(t, l.plain, l.lock.Name()+"/")[0]))
			require.NoError(t, err)
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 2, etcdlock.Options{})
			name := nameOf(t)
			held, unlock := take(t, all[0].Lock(name))
			got := waits(t, plain, all[1].Lock(name), 2)
			end(t, lab{all[0], all[0].Lock(name), turn{held: held, unlock: unlock}, plain})
			require.NoError(t, has(t, got).unlock())
		})
	}
}

// Three clients have the lock in the order in which they asked, whichever that is.
func TestTheLockGoesInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 4, etcdlock.Options{})
	name := nameOf(t)
	for range 8 {
		_, unlock := take(t, all[3].Lock(name))
		order := rand.Perm(3)
		arrived := make([]<-chan turn, 3)
		for i, who := range order {
			arrived[i] = waits(t, plain, all[who].Lock(name), i+2)
		}
		for _, next := range arrived {
			require.NoError(t, unlock())
			unlock = has(t, next).unlock
		}
		require.NoError(t, unlock())
	}
}

// When a waiter leaves, the next one waits for the key that was before it.
func TestAWaiterBehindOneThatLeaves(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, etcdlock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	leaves, leave := context.WithCancel(within(t))
	left := make(chan error, 1)
	go func() {
		_, _, err := all[1].Lock(name).Lock(leaves)
		left <- err
	}()
	stand(t, plain, name, 2)
	got := waits(t, plain, all[2].Lock(name), 3)
	leave()
	err := await(t, left, "it leaves")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, lock.ErrBusy)
	stand(t, plain, name, 2)
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
	stand(t, plain, name, 0)
}

// A waiter whose place came to be by a request without an answer knows no less who stands before it.
func TestAWaiterWhoseFirstAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range map[string]fates.Fate{"cut": fates.CutAfter, "silence": fates.Silence} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 1, etcdlock.Options{})
			var faults wire
			b := client(t, connect(t, etcdtest.Shared(t).Endpoint(), faults.options()...), etcdlock.Options{Lease: 2 * brief})
			name := nameOf(t)
			taken(t, b.Lock(name))
			_, unlock := take(t, all[0].Lock(name))
			rule := faults.On(acquiring, fate)
			got := waits(t, plain, b.Lock(name), 2)
			rule.Wait(t)
			eventually(t, func() bool { return faults.Count(acquiring) == 3 }, "it asks again")
			require.NoError(t, unlock())
			require.NoError(t, has(t, got).unlock())
		})
	}
}

// A waiter has its place before it looks who stands before it: one whose look has no answer looks again, and hears of its
// turn.
func TestAWaiterWhoseLookIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range map[string]fates.Fate{"cut": fates.CutAfter, "lost": fates.Lost} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 1, etcdlock.Options{})
			var faults wire
			b := client(t, connect(t, etcdtest.Shared(t).Endpoint(), faults.options()...), etcdlock.Options{})
			name := nameOf(t)
			taken(t, b.Lock(name))
			_, unlock := take(t, all[0].Lock(name))
			before := faults.Count(reading)
			faults.On(reading, fate)
			got := waits(t, plain, b.Lock(name), 2)
			eventually(t, func() bool { return faults.Count(reading) == before+2 }, "it looks again")
			require.NoError(t, unlock())
			require.NoError(t, has(t, got).unlock())
		})
	}
}
