package redistest_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestReplica(t *testing.T) {
	primary := redistest.Start(t)
	replica := redistest.Replica(t, primary)
	require.NoError(t, primary.Client(t).Set(t.Context(), "k", "v", 0).Err())
	redistest.Eventually(t, limit, func() bool { return len(replica.Keys(t)) == 1 },
		"the key did not reach the replica")
	require.ErrorContains(t, replica.Client(t).Set(t.Context(), "k", "v", 0).Err(), "READONLY")
}

func TestClusterServesEverySlot(t *testing.T) {
	lab := redistest.Cluster(t, 3)
	rdb := lab.Client(t)
	for i := range 100 {
		require.NoError(t, rdb.Set(t.Context(), "k"+strconv.Itoa(i), i, 0).Err())
	}
	for i := range lab.Len() {
		require.NotEmpty(t, lab.Node(i).Keys(t))
	}
	require.Equal(t, 0, lab.NodeFor(t, 0))
	require.Equal(t, 2, lab.NodeFor(t, 16383))
}

func TestClusterMigration(t *testing.T) {
	lab := redistest.Cluster(t, 2)
	rdb := lab.Client(t)
	ctx := t.Context()
	require.NoError(t, rdb.Set(ctx, "{x}a", "a", 0).Err())
	require.NoError(t, rdb.Set(ctx, "{x}b", "b", 0).Err())
	slot := lab.Slot(t, "{x}a")
	from := lab.NodeFor(t, slot)
	to := 1 - from

	lab.SetSlotMigrating(t, slot, from, to)
	lab.MoveKeys(t, slot, from, to, "{x}a")
	require.Equal(t, "a", rdb.Get(ctx, "{x}a").Val(), "a moved key is found by ASK")
	bare := redis.NewClient(&redis.Options{Addr: lab.Node(from).Addr(), MaxRetries: -1})
	defer func() { require.NoError(t, bare.Close()) }()
	err := bare.MGet(ctx, "{x}a", "{x}b").Err()
	require.Error(t, err)
	if major, _ := lab.Node(from).Version(); major < 7 {
		// Redis 6 redirects a request for both to the target, which does not have both either.
		require.True(t, strings.HasPrefix(err.Error(), "ASK"), err)
	} else {
		require.True(t, strings.HasPrefix(err.Error(), "TRYAGAIN"), err)
	}

	lab.MoveKeys(t, slot, from, to)
	lab.FinishSlot(t, slot, to)
	require.Equal(t, to, lab.NodeFor(t, slot))
	require.Equal(t, "b", rdb.Get(ctx, "{x}b").Val())
	require.Empty(t, lab.Node(from).Keys(t))
}

func TestSentinelFailover(t *testing.T) {
	lab := redistest.Sentinel(t)
	rdb := lab.Client(t)
	require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
	old := lab.Primary(t)
	next := lab.Failover(t)
	require.NotEqual(t, old.Addr(), next.Addr())
	redistest.Eventually(t, limit, func() bool {
		return rdb.Set(t.Context(), "k", "w", 0).Err() == nil
	}, "the client did not follow the failover")
	require.Equal(t, "w", next.Client(t).Get(t.Context(), "k").Val())
}

func TestSentinelFailoverAfterKill(t *testing.T) {
	lab := redistest.Sentinel(t)
	old := lab.Primary(t)
	old.Kill()
	next := lab.WaitFailover(t, old)
	require.NoError(t, next.Client(t).Set(t.Context(), "k", "v", 0).Err())
}
