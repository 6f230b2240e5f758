package goredis_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Whether a client is one of Sentinel is read from its options, and its dialer asks the Sentinels.
func TestAClientOfSentinelIsKnownByItsOptions(t *testing.T) {
	o := &redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}}
	single := redis.NewFailoverClient(o)
	defer func() { require.NoError(t, single.Close()) }()
	require.Equal(t, "FailoverClient", single.Options().Addr)
	require.NotNil(t, single.Options().Dialer)
	cluster := redis.NewFailoverClusterClient(o)
	defer func() { require.NoError(t, cluster.Close()) }()
	require.NotNil(t, cluster.Options().ClusterSlots)
}

// A cluster client tells which node serves a key, visits every primary, and shows each new node's client before it is
// used.
func TestAClusterClientShowsItsNodes(t *testing.T) {
	lab := redistest.Cluster(t, 3)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: lab.Addrs()[:1], DisableRoutingPolicies: true})
	defer func() { require.NoError(t, c.Close()) }()
	require.Nil(t, c.Options().ClusterSlots)
	var mu sync.Mutex
	shown, visited := map[string]bool{}, map[string]bool{}
	c.OnNewNode(func(node *redis.Client) {
		mu.Lock()
		defer mu.Unlock()
		shown[node.Options().Addr] = true
	})
	require.NoError(t, c.ForEachMaster(t.Context(), func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		visited[node.Options().Addr] = true
		return nil
	}))
	require.Len(t, visited, 3)
	for addr := range visited {
		require.True(t, shown[addr], addr)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		node, err := c.MasterForKey(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, node.Set(t.Context(), name, 1, 0).Err(), "the node refuses a key that it serves")
		// A script goes to the node of its first key, which stands behind the script and the number of keys.
		cmd := redis.NewIntSliceCmd(t.Context(), "eval", "return {1, 2}", 1, name)
		cmd.SetFirstKeyPos(3)
		require.NoError(t, c.Process(t.Context(), cmd))
		require.Equal(t, []int64{1, 2}, cmd.Val())
	}
	c.ReloadState(t.Context())
}

// told is what a subscription told.
func told(t *testing.T, ps *redis.PubSub) string {
	t.Helper()
	msg, err := ps.ReceiveTimeout(t.Context(), never)
	require.NoError(t, err)
	switch m := msg.(type) {
	case *redis.Subscription:
		return m.Kind + " " + m.Channel
	case *redis.Message:
		return "message " + m.Channel + " " + m.Payload
	case *redis.Pong:
		return "pong"
	}
	t.Fatalf("%T", msg)
	return ""
}

// A subscription tells each confirmation, message and pong; that none came in time is a timeout, after which it goes on.
func TestASubscriptionTellsAll(t *testing.T) {
	c, _, server := faulty(t)
	ps := c.Subscribe(t.Context())
	defer func() { _ = ps.Close() }()
	require.NoError(t, ps.Subscribe(t.Context(), "a"))
	require.Equal(t, "subscribe a", told(t, ps))
	_, err := ps.ReceiveTimeout(t.Context(), time.Millisecond)
	isTimeout(t, err)
	require.NoError(t, ps.Ping(t.Context()))
	require.Equal(t, "pong", told(t, ps))
	require.NoError(t, server.Client(t).Publish(t.Context(), "a", "hello").Err())
	require.Equal(t, "message a hello", told(t, ps))
	require.NoError(t, ps.Unsubscribe(t.Context(), "a"))
	require.Equal(t, "unsubscribe a", told(t, ps))

	if major, _ := server.Version(); major >= 7 {
		require.NoError(t, ps.SSubscribe(t.Context(), "b"))
		require.Equal(t, "ssubscribe b", told(t, ps))
		require.NoError(t, ps.SUnsubscribe(t.Context(), "b"))
		require.Equal(t, "sunsubscribe b", told(t, ps))
	}
	require.NoError(t, c.Ping(t.Context()).Err(), "it needs no place of the pool")
}

// Close ends a wait for a message, and no connection is made in place of a broken one without a word.
func TestAClosedSubscriptionEnds(t *testing.T) {
	c, proxy, _ := faulty(t)
	for _, end := range []func(ps *redis.PubSub){
		func(ps *redis.PubSub) { _ = ps.Close() },
		func(*redis.PubSub) { proxy.CutSubscribers() },
	} {
		ps := c.Subscribe(t.Context())
		require.NoError(t, ps.Subscribe(t.Context(), "a"))
		require.True(t, strings.HasPrefix(told(t, ps), "subscribe"))
		ended := make(chan error, 1)
		go func() {
			_, err := ps.ReceiveTimeout(context.Background(), never)
			ended <- err
		}()
		end(ps)
		require.Error(t, <-ended)
		_ = ps.Close()
	}
}
