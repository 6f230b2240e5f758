package luacall_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// spread returns locks on all nodes of a cluster.
func spread(t *testing.T, client redis.UniversalClient, count int) []*luacall.Call[luacall.AcquireReply] {
	t.Helper()
	var calls []*luacall.Call[luacall.AcquireReply]
	for range count {
		p := newPlace(t, nil)
		calls = append(calls, p.acquire(alice))
	}
	return calls
}

func TestCluster(t *testing.T) {
	lab := redistest.Cluster(t, 2)
	client := lab.Client(t)

	t.Run("pipeline", func(t *testing.T) {
		calls := spread(t, client, 64)
		for _, want := range []luacall.Status{luacall.Held, luacall.Already} {
			node := lab.Node(0).Client(t)
			require.NoError(t, node.ScriptFlush(t.Context()).Err())
			luacall.RunAll(t.Context(), client, calls)
			for _, call := range calls {
				require.NoError(t, call.Err)
				require.Equal(t, want, call.Reply.Status)
				require.Positive(t, call.Reply.Fence)
			}
		}
	})

	t.Run("routing", func(t *testing.T) {
		var calls []*luacall.Call[luacall.ReleaseReply]
		for range 64 {
			p := newPlace(t, nil)
			_, err := p.release(alice).Run(t.Context(), client)
			require.NoError(t, err)
			calls = append(calls, p.release(alice))
		}
		luacall.RunAll(t.Context(), client, calls)
		for i, call := range calls {
			require.NoError(t, call.Err)
			require.Empty(t, lab.Node(i%2).Info(t, "errorstats")["errorstat_MOVED"],
				"go-redis did not know where the first key is")
		}
	})

	t.Run("sharded publish", func(t *testing.T) {
		if major, _ := lab.Node(0).Version(); major < 7 {
			t.Skip("Redis has sharded channels from 7 on")
		}
		p := newPlace(t, nil)
		run := onCluster(t, client)
		run(p.acquire(alice))
		sub := client.SSubscribe(t.Context(), p.channel)
		t.Cleanup(func() { _ = sub.Close() })
		_, err := sub.Receive(t.Context())
		require.NoError(t, err)
		released, err := luacall.Release(luacall.ReleaseArgs{
			Lock: p.lock, ID: alice, Channel: p.channel, Sharded: true,
		}).Run(t.Context(), client)
		require.NoError(t, err)
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done, Receivers: 1}}, released)
		message, err := sub.ReceiveMessage(t.Context())
		require.NoError(t, err)
		require.Equal(t, "0", message.Payload)
		inspected, err := luacall.Inspect(p.lock, p.token, p.channel, true).Run(t.Context(), client)
		require.NoError(t, err)
		require.Equal(t, int64(1), inspected.Subscribers)
	})

	t.Run("migration", func(t *testing.T) { duringMigration(t, lab, client) })

	t.Run("sent once", func(t *testing.T) {
		to := make(map[string]*faultproxy.Proxy)
		for _, addr := range lab.Addrs() {
			to[addr] = faultproxy.Start(t, addr)
		}
		cut := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: lab.Addrs(),
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, to[addr].Addr())
			},
		})
		t.Cleanup(func() { _ = cut.Close() })
		p := newPlace(t, nil)
		onCluster(t, cut)(p.acquire(alice))
		sentOnce(t, p, cut, slices.Collect(maps.Values(to))...)
	})
}

func onCluster(t *testing.T, client redis.UniversalClient) func(*luacall.Call[luacall.AcquireReply]) luacall.AcquireReply {
	return func(call *luacall.Call[luacall.AcquireReply]) luacall.AcquireReply {
		t.Helper()
		reply, err := call.Run(t.Context(), client)
		require.NoError(t, err)
		return reply
	}
}

// duringMigration follows one lock while its slot moves: what renews and releases works wherever the key is, by ASK and
// then by MOVED, although none of it may be retried. What takes is refused until the slot has moved.
func duringMigration(t *testing.T, lab *redistest.ClusterLab, client *redis.ClusterClient) {
	p, free := newPlace(t, nil), newPlace(t, nil)
	free.lock, free.token = "{"+p.lock+"}:free", "redisson_lock_token:{"+p.lock+"}:free"
	run := onCluster(t, client)
	slot := keys.Slot(p.lock)
	require.Equal(t, slot, keys.Slot(free.lock))
	from := lab.NodeFor(t, slot)
	to := 1 - from
	renew := func() {
		t.Helper()
		call := p.renew(alice, lease)
		answer, err := call.Run(t.Context(), client)
		require.NoError(t, err)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, answer)
		luacall.RunAll(t.Context(), client, []*luacall.Call[[]luacall.RenewStatus]{call})
		require.NoError(t, call.Err)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, call.Reply)
	}
	refused := func(err error) {
		t.Helper()
		require.True(t, redis.HasErrorPrefix(err, "TRYAGAIN"), "two keys, one of them absent: %v", err)
		require.True(t, luacall.Passes(err))
	}

	held := run(p.acquire(alice))
	require.Equal(t, luacall.Held, held.Status)
	lab.SetSlotMigrating(t, slot, from, to)
	renew() // still at the source
	require.Equal(t, luacall.Busy, run(p.acquire(bob)).Status, "both keys are there")
	_, err := free.acquire(alice).Run(t.Context(), client)
	refused(err)

	lab.MoveKeys(t, slot, from, to, p.lock)
	renew() // ASK
	_, err = p.acquire(bob).Run(t.Context(), client)
	refused(err)
	lab.MoveKeys(t, slot, from, to)
	lab.FinishSlot(t, slot, to)
	renew() // MOVED
	again := run(p.acquire(alice))
	require.Equal(t, luacall.Already, again.Status)
	require.Equal(t, held.Fence, again.Fence)
	require.Equal(t, luacall.Held, run(free.acquire(alice)).Status)
}
