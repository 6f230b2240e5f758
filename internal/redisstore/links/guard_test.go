package links_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// poison is an argument that makes go-redis panic, where a reply would that it does not expect.
type poison struct{}

func (poison) MarshalBinary() ([]byte, error) { panic("poison") }

// A panic in go-redis is an error of its exchange, on every derived client and in the goroutines of a cluster's
// pipelines. Its connection is not used again.
func TestAPanicInGoRedisIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	single := from(t, server.Client(t))
	cluster := from(t, redistest.Cluster(t, 2).Client(t))
	node, err := links.FromNode(server.Client(t), limits, func(context.Context, *redis.Conn) error { return nil })
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	for name, c := range map[string]redis.UniversalClient{
		"a single server": single.Traffic, "a cluster": cluster.Traffic, "a node": node,
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.Set(t.Context(), "a", poison{}, 0).Err(), "poison")
			pipe := c.Pipeline()
			one, bad := pipe.Set(t.Context(), "a", 1, 0), pipe.Set(t.Context(), "a", poison{}, 0)
			_, err := pipe.Exec(t.Context())
			require.ErrorContains(t, err, "poison")
			require.ErrorContains(t, one.Err(), "poison")
			require.ErrorContains(t, bad.Err(), "poison")
			require.NoError(t, c.Set(t.Context(), "a", "fine", 0).Err())
		})
	}
}
