package links_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

const eventually = 15 * time.Second

// wrapped is what a tracing library may make of a client.
type wrapped struct{ redis.UniversalClient }

// G14: a client that cannot be derived from is refused with a reason, above all a Ring (interleaving
// 2).
func TestClientsThatAreRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "redis.test:1"}})
	defer func() { require.NoError(t, ring.Close()) }()
	for name, c := range map[string]struct {
		rdb  redis.UniversalClient
		says string
	}{
		"nil":                    {nil, "nil"},
		"typed nil":              {(*redis.Client)(nil), "nil"},
		"typed nil of a cluster": {(*redis.ClusterClient)(nil), "nil"},
		"typed nil of a ring":    {(*redis.Ring)(nil), "nil"},
		"ring":                   {ring, "Ring"},
		"unknown":                {wrapped{ring}, "links_test.wrapped"},
		"unknown pointer":        {&wrapped{ring}, "links_test.wrapped"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := links.From(c.rdb, limits)
			require.Nil(t, l)
			require.ErrorIs(t, err, links.ErrUnsupported)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// defect F2: a connection behind Sentinel does not end by its age, because a new one would need a Sentinel. Its
// subscriptions are renewed, as a last resort against a primary that was replaced (interleaving 3).
func TestConnectionsBehindASentinelLast(t *testing.T) {
	for name, life := range map[string]time.Duration{"unlimited": 0, "long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			l := from(t, redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: "primary", SentinelAddrs: []string{"127.0.0.1:1"},
				ConnMaxLifetime: life, ConnMaxLifetimeJitter: life,
			}))
			require.Equal(t, limits.Life, l.Life())
			o := l.Traffic.(*redis.Client).Options()
			require.Zero(t, o.ConnMaxLifetime)
			require.Zero(t, o.ConnMaxLifetimeJitter)
		})
	}
}

// NewUniversalClient with a MasterName and RouteRandomly makes a ClusterClient whose one "node" is the
// primary that the Sentinels name. It must be refused, or its connections must not last and its
// messages must go where Redisson's go behind Sentinel: interleaving 3 again.
func TestAFailoverClusterClientIsASentinelsClient(t *testing.T) {
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{
		MasterName: "primary", Addrs: []string{"127.0.0.1:1"}, RouteRandomly: true,
	})
	defer func() { _ = rdb.Close() }()
	require.IsType(t, (*redis.ClusterClient)(nil), rdb)
	l, err := links.From(rdb, limits)
	if err != nil {
		require.ErrorIs(t, err, links.ErrUnsupported)
		return
	}
	defer func() { _ = l.Close() }()
	require.Equal(t, limits.Life, l.Life())
	o := l.Traffic.(*redis.ClusterClient).Options()
	require.Equal(t, limits.Life, o.ConnMaxLifetime)
	require.LessOrEqual(t, o.ClusterStateReloadInterval, limits.Life)
}

func TestASingleNodeIsOneShardAndNeverSharded(t *testing.T) {
	server := redistest.Shared(t)
	l := from(t, server.Client(t))
	ctx := context.Background()
	sharded, err := l.Sharded(ctx)
	require.NoError(t, err)
	require.False(t, sharded, "Redisson publishes with PUBLISH there")
	require.Empty(t, l.Shard(ctx, "a"))
	node, err := links.Node(ctx, l.Traffic, "a")
	require.NoError(t, err)
	require.Same(t, l.Traffic, node)
	l.Moved(ctx)
}

// Both sides of a name must publish and listen alike: Redisson decides by PUBSUB SHARDNUMSUB.
func TestAClusterIsShardedWhereItsNodesAre(t *testing.T) {
	lab := redistest.Cluster(t, 2)
	l := from(t, lab.Client(t))
	ctx := context.Background()
	sharded, err := l.Sharded(ctx)
	require.NoError(t, err)
	major, _ := lab.Node(0).Version()
	require.Equal(t, major >= 7, sharded)

	for _, key := range []string{"a", "b", "c", "{t}x", "{t}y"} {
		addr := lab.Node(lab.NodeFor(t, keys.Slot(key))).Addr()
		require.Equal(t, addr, l.Shard(ctx, key))
		c, err := links.Node(ctx, l.Traffic, key)
		require.NoError(t, err)
		require.Equal(t, addr, c.Options().Addr)
		c, err = links.NodeAt(ctx, l.Traffic, addr)
		require.NoError(t, err)
		require.Equal(t, addr, c.Options().Addr)
	}
	slot := keys.Slot("a")
	owner := lab.NodeFor(t, slot)
	lab.FinishSlot(t, slot, 1-owner)
	redistest.Eventually(t, eventually, func() bool {
		l.Moved(ctx)
		return l.Shard(ctx, "a") == lab.Node(1-owner).Addr()
	}, "the map of the slots was not read again")
}

// A node that cannot answer now must not decide for good how releases are published; one that does not
// know the command, or forbids it, does.
func TestShardedIsLearnedOnceAndOnlyFromAnAnswer(t *testing.T) {
	lab := redistest.Cluster(t, 1)
	proxy := faultproxy.Start(t, lab.Node(0).Addr())
	// As NewFailoverClusterClient makes it, without Addrs: go-redis takes the host from loopback addresses of
	// ClusterSlots, so under its full address the same server would count as one that is no primary.
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: proxy.Addr()}}}}, nil
		},
	})
	l := from(t, rdb)
	ctx := context.Background()
	lost := proxy.On(faultproxy.Command("pubsub"), faultproxy.DropReply).Times(-1)
	_, err := l.Sharded(ctx)
	require.Error(t, err)
	lost.Wait(t, 1)
	lost.Times(0)

	var sharded bool
	require.Eventually(t, func() bool { // its limit is short
		sharded, err = l.Sharded(ctx)
		return err == nil
	}, eventually, time.Millisecond)
	major, _ := lab.Node(0).Version()
	require.Equal(t, major >= 7, sharded)
	asked := proxy.Requests(faultproxy.Command("pubsub"))
	for range 10 {
		again, err := l.Sharded(ctx)
		require.NoError(t, err)
		require.Equal(t, sharded, again)
	}
	require.Equal(t, asked, proxy.Requests(faultproxy.Command("pubsub")), "the answer is kept")
}

// A thousand callers at the start of a process must not be a thousand questions; and the one that asks for all may be
// gone before the answer.
func TestManyCallersAskAClusterOnce(t *testing.T) {
	lab := redistest.Cluster(t, 1)
	proxy := faultproxy.Start(t, lab.Node(0).Addr())
	l := from(t, redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: proxy.Addr()}}}}, nil
		},
	}))
	pubsub, gate := faultproxy.Command("pubsub"), faultproxy.NewGate()
	held := proxy.On(pubsub, faultproxy.HoldReply(gate)).Times(1)
	var all errgroup.Group
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- l.Ready(ctx, eventually) }()
	held.Wait(t, 1)
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled, "it leaves while the question is under way")
	for range 20 {
		all.Go(func() error { return l.Ready(t.Context(), eventually) })
	}
	gate.Open()
	require.NoError(t, all.Wait())
	require.True(t, l.Known())
	require.Equal(t, 1, proxy.Requests(pubsub))
}

func TestAForbiddenCommandMeansPlainMessages(t *testing.T) {
	lab := redistest.Cluster(t, 1)
	admin := lab.Client(t)
	ctx := context.Background()
	require.NoError(t, admin.Do(ctx, "acl", "setuser", "locks", "on", ">pw", "~*", "&*", "+@all",
		"-pubsub").Err())
	l := from(t, redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: lab.Addrs(), Username: "locks", Password: "pw",
	}))
	sharded, err := l.Sharded(ctx)
	require.NoError(t, err)
	require.False(t, sharded)
}

// The application keeps its client; Close ends every derived connection, those in use included.
func TestCloseEndsDerivedConnectionsAndNoOthers(t *testing.T) {
	server := redistest.Start(t)
	rdb := server.Client(t)
	ctx := context.Background()
	require.NoError(t, rdb.Ping(ctx).Err())
	l := from(t, rdb)
	require.NoError(t, l.Traffic.Ping(ctx).Err())
	conn := l.Traffic.(*redis.Client).Conn()
	require.NoError(t, conn.Ping(ctx).Err())
	defer func() { _ = conn.Close() }()

	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Traffic.Ping(ctx).Err(), redis.ErrClosed)
	redistest.Eventually(t, eventually, func() bool {
		return rdb.ClientList(ctx).Val() != "" && server.Info(t, "clients")["connected_clients"] == "2"
	}, "besides the application's connection and the one that counts, some are left")
	require.NoError(t, rdb.Ping(ctx).Err())
	require.Error(t, l.Close(), "go-redis says so of a second one")
}
