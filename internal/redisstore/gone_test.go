package redisstore

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Where writes are confirmed, callers have places by node. Those of an address that serves nothing any more go when the
// next one comes, and who has one keeps it (defect G11).
func TestPlacesAtNodesThatWereReplacedGo(t *testing.T) {
	t.Parallel()
	var at atomic.Value
	at.Store("pod:6379")
	server := redistest.Shared(t)
	given := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: at.Load().(string)}}}}, nil
		},
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Addr())
		},
	})
	defer func() { require.NoError(t, given.Close()) }()
	conns, err := links.From(given, links.Limits{Command: 3 * time.Second, Life: time.Minute})
	require.NoError(t, err)
	s := New(conns, Confirmation{})
	defer s.HangUp()
	require.NoError(t, s.Ready(t.Context(), 3*time.Second))
	mine := s.places.at(s.Node("key"), conns)
	require.NoError(t, mine.enter(t.Context()))
	for i := range 200 {
		at.Store(fmt.Sprint("10.0.0.", i, ":6379"))
		none := func(context.Context, *redis.Client) error { return nil }
		require.NoError(t, conns.Traffic.(*redis.ClusterClient).ForEachMaster(t.Context(), none)) // reads the map
		require.Equal(t, at.Load(), s.Node("key"))
		require.Equal(t, conns.Callers(), cap(s.places.at(s.Node("key"), conns)))
		require.Len(t, s.places.byNode, 1)
	}
	mine.leave()
	require.False(t, s.Serves("pod:6379"))
	require.True(t, s.Serves(s.Node("key")))
}
