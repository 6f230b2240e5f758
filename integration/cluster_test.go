package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 20: the whole life of a lock between two processes on a cluster, whatever its name looks like. MaxPoll exceeds
// the test, so that only a message can wake a waiter (G6): SPUBLISH on Redis 7.
func TestClusterLockLife(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 3)
	opts := rlock.ClientOptions{MaxPoll: never}
	client1, _ := newClient(t, lab.Client(t), opts)
	client2, events2 := newClient(t, lab.Client(t), opts)
	nodes := make(map[int]bool)
	for _, name := range []string{
		"plain", "order:1001", "{tenant1}:order", "order:{tenant2}", "a{b}c{d}", "ü€", "with space",
		"n1", "n2", "n3", "n4",
	} {
		nodes[lab.NodeFor(t, keys.Slot(name))] = true
		t.Run(name, func(t *testing.T) {
			here, there := rlock.New(client1, name), rlock.New(client2, name)
			ctx, unlock := held(t, here)
			first := alive(t, here, ctx)
			inner, unlockInner, err := here.Lock(ctx)
			require.NoError(t, err)
			require.Equal(t, 2, alive(t, here, inner).Count)
			_, _, err = there.TryLock(context.Background())
			require.ErrorIs(t, err, rlock.ErrBusy)
			var info rlock.Info
			redistest.Eventually(t, limit, func() bool {
				info, err = there.Inspect(context.Background())
				return err == nil && len(info.Holders) == 1 && info.Holders[0].Count == 2
			}, "the count follows")
			require.False(t, info.Holders[0].Mine)
			require.NoError(t, unlockInner())
			require.NoError(t, ctx.Err())

			waiter := waiting(t, events2, there)
			next := waiting(t, events2, there) // queues behind the first, in its process
			node := lab.Node(lab.NodeFor(t, keys.Slot(name)))
			subscribed(t, node, name)
			require.NoError(t, unlock())
			second := arrives(t, waiter)
			hold := alive(t, there, second.ctx)
			require.Greater(t, hold.Fence, first.Fence)
			require.NoError(t, second.unlock())
			third := arrives(t, next)
			require.Greater(t, alive(t, there, third.ctx).Fence, hold.Fence)
			require.NoError(t, third.unlock())
			require.False(t, exists(t, node, name))
		})
	}
	require.Len(t, nodes, 3, "the names are to lie on all nodes")
}

// G14, need 20: Redisson's rule for companion keys puts those of such names into another slot. Nothing is sent.
func TestClusterRefusesNamesWhoseKeysFallApart(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 1)
	client, _ := newClient(t, lab.Client(t), rlock.ClientOptions{})
	ctx := context.Background()
	for _, name := range []string{
		"a{b", "{}z", "foo}bar", "}front", "x{}y{z}", "{", "{}", "a{b{c",
	} {
		t.Run(name, func(t *testing.T) {
			before := lab.Node(0).Info(t, "stats")["total_connections_received"]
			lock := rlock.New(client, name)
			var argument *rlock.ArgumentError
			_, _, err := lock.Lock(ctx)
			require.ErrorAs(t, err, &argument)
			require.Equal(t, "name", argument.Name)
			_, _, err = lock.TryLock(ctx)
			require.ErrorAs(t, err, &argument)
			require.ErrorAs(t, lock.Do(ctx, func(context.Context) error { return nil }), &argument)
			_, err = lock.Inspect(ctx)
			require.ErrorAs(t, err, &argument)
			require.ErrorAs(t, lock.Break(ctx), &argument)
			after := lab.Node(0).Info(t, "stats")["total_connections_received"]
			// The two questions each used a new connection; there was no other one.
			require.Equal(t, number(t, before)+1, number(t, after))
		})
	}
	require.Empty(t, lab.Node(0).Keys(t))
}

// On a single node the same names work: Java uses them there.
func TestASingleNodeTakesNamesWhoseKeysFallApart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, _ := newClient(t, server.Client(t), rlock.ClientOptions{})
	for _, name := range []string{"a{b", "{}z", "foo}bar", "{"} {
		_, unlock := held(t, rlock.New(client, name))
		require.True(t, exists(t, server, name))
		require.NoError(t, unlock())
	}
}

// G9: hundreds of holds over many slots and all nodes are kept through many short leases.
func TestClusterRenewsHundredsOfLocksOverManySlots(t *testing.T) {
	t.Parallel()
	const locks, periods = 300, 6
	lab := redistest.Cluster(t, 3)
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: 1500 * time.Millisecond})
	type one struct {
		lock   *rlock.Lock
		ctx    context.Context
		unlock func() error
	}
	var all []one
	slots := make(map[int]bool)
	for i := range locks {
		name := fmt.Sprint("lock:", i)
		if i%10 == 0 {
			name = fmt.Sprintf("{tenant%d}:%d", i%20, i) // some share a slot
		}
		slots[keys.Slot(name)] = true
		lock := rlock.New(client, name)
		ctx, unlock := held(t, lock)
		all = append(all, one{lock, ctx, unlock})
	}
	require.Greater(t, len(slots), locks*4/5)
	for _, l := range all {
		redistest.Eventually(t, limit, func() bool { return events.renewals(l.lock.Name()) >= periods },
			"not renewed often enough")
	}
	require.Empty(t, events.losses())
	for _, l := range all {
		alive(t, l.lock, l.ctx)
		require.NoError(t, l.unlock())
	}
}
