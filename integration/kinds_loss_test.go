package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// lossOnEvery takes three locks from their holder: one key is deleted, one belongs to another hold, and one has
// another type. Each is reported lost, and the contents of the keys are left alone.
func lossOnEvery(t *testing.T, rdb redis.UniversalClient, name string) {
	t.Helper()
	const lease = 6 * time.Second
	ctx := context.Background()
	client, events := newClient(t, rdb, rlock.ClientOptions{Lease: lease})
	foreign := map[string]string{"5f3ae2a0-9a2e-4d1f-8d6c-0c3b9d6a1e55:47": "1"}
	holds := map[string]func(key string){
		"{" + name + "}:deleted": func(key string) { require.NoError(t, rdb.Del(ctx, key).Err()) },
		"{" + name + "}:another's": func(key string) {
			require.NoError(t, rdb.Del(ctx, key).Err())
			require.NoError(t, rdb.HSet(ctx, key, foreign).Err())
			require.NoError(t, rdb.PExpire(ctx, key, 10*time.Minute).Err())
		},
		"{" + name + "}:no lock": func(key string) {
			require.NoError(t, rdb.Set(ctx, key, "precious", 10*time.Minute).Err())
		},
	}
	var contexts []context.Context
	var unlocks []func() error
	for key, strike := range holds {
		hold, unlock := held(t, rlock.New(client, key))
		contexts, unlocks = append(contexts, hold), append(unlocks, unlock)
		strike(key)
	}
	for i, ctx := range contexts {
		redistest.Receive(t, limit, ctx.Done(), "a renewal of nothing was taken for a success")
		var lost *rlock.LostError
		require.ErrorAs(t, context.Cause(ctx), &lost)
		require.Equal(t, rlock.LossGone, lost.Reason, "%v", lost)
		require.ErrorIs(t, unlocks[i](), rlock.ErrLost)
	}
	redistest.Eventually(t, limit, func() bool { return len(events.losses()) == len(holds) },
		"each loss is told once")
	require.Zero(t, rdb.Exists(ctx, "{"+name+"}:deleted").Val())
	require.Equal(t, foreign, rdb.HGetAll(ctx, "{"+name+"}:another's").Val())
	require.Greater(t, rdb.PTTL(ctx, "{"+name+"}:another's").Val(), 5*time.Minute)
	require.Equal(t, "precious", rdb.Get(ctx, "{"+name+"}:no lock").Val())
}

// G2, bug 18: a renewal that found nothing is no success, for every kind of client and both protocols.
func TestARenewalOfNothingIsALossForEveryClient(t *testing.T) {
	server, cluster, sentinel := redistest.Start(t), redistest.Cluster(t, 2), redistest.Sentinel(t)
	failover := sentinel.Options()
	for _, protocol := range []int{2, 3} {
		for name, opts := range map[string]redis.UniversalOptions{
			"single":   {Addrs: []string{server.Addr()}},
			"cluster":  {Addrs: cluster.Addrs()},
			"sentinel": {Addrs: failover.SentinelAddrs, MasterName: failover.MasterName},
			"sentinel, routed": {
				Addrs: failover.SentinelAddrs, MasterName: failover.MasterName, RouteRandomly: true,
			},
		} {
			kind := name + map[int]string{2: ", protocol 2", 3: ", protocol 3"}[protocol]
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				opts.Protocol = protocol
				rdb := redis.NewUniversalClient(&opts)
				t.Cleanup(func() { _ = rdb.Close() })
				lossOnEvery(t, rdb, kind)
			})
		}
	}
}
