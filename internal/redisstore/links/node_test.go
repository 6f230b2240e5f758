package links_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Every connection is vetted when it is made, on that connection and after the application's own hook. A rejected
// connection is not used, and the error says why.
func TestEveryConnectionOfANodeIsVetted(t *testing.T) {
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	var order []string
	given := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(),
		OnConnect: func(context.Context, *redis.Conn) error {
			order = append(order, "theirs")
			return nil
		},
	})
	defer func() { require.NoError(t, given.Close()) }()
	refusal := errors.New("not now")
	answer := refusal
	rdb, err := links.FromNode(given, limits, func(ctx context.Context, conn *redis.Conn) error {
		order = append(order, "ours")
		require.NoError(t, conn.Ping(ctx).Err(), "it can be asked")
		return answer
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, rdb.Close()) }()
	require.Empty(t, order, "nothing is sent before it is needed")

	ctx := context.Background()
	_, err = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() })
	require.ErrorIs(t, err, refusal)
	require.Equal(t, []string{"theirs", "ours"}, order)
	answer = nil
	for range 3 {
		_, err = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() })
		require.NoError(t, err)
	}
	require.Equal(t, []string{"theirs", "ours", "theirs", "ours"}, order, "and kept, once it is liked")
	proxy.CutAll()
	_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() })
	_, err = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() })
	require.NoError(t, err)
	require.Len(t, order, 6, "a new connection is looked at anew")
}

// A node's client has one connection, and repeats nothing.
func TestANodesClientRepeatsNothing(t *testing.T) {
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	given := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	defer func() { require.NoError(t, given.Close()) }()
	rdb, err := links.FromNode(given, limits, func(context.Context, *redis.Conn) error { return nil })
	require.NoError(t, err)
	defer func() { require.NoError(t, rdb.Close()) }()
	require.Equal(t, 1, rdb.Options().PoolSize)
	require.True(t, rdb.Options().ContextTimeoutEnabled)
	key := redistest.Key(t)
	lost := proxy.On(faultproxy.Command("incr"), faultproxy.DropReply).Times(-1)
	ctx := context.Background()
	_, err = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, key).Err() })
	require.Error(t, err)
	require.Equal(t, 1, lost.Fired())
	require.Equal(t, "1", server.Client(t).Get(ctx, key).Val())
}

// A client that routes by itself is no node.
func TestClientsThatAreNoNodes(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "redis.test:1"}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"redis.test:1"}})
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "primary", SentinelAddrs: []string{"127.0.0.1:1"},
	})
	for _, rdb := range []redis.UniversalClient{ring, cluster, sentinel} {
		defer func() { require.NoError(t, rdb.Close()) }()
		_, err := links.FromNode(rdb, limits, nil)
		require.ErrorIs(t, err, links.ErrUnsupported)
		require.ErrorContains(t, err, "single server")
	}
	for _, rdb := range []redis.UniversalClient{nil, (*redis.Client)(nil), wrapped{sentinel}} {
		_, err := links.FromNode(rdb, limits, nil)
		require.ErrorIs(t, err, links.ErrUnsupported)
	}
}
