package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 21: a server that evicts at will forgets holds, and their tokens too. The owner learns of it with the next
// renewal, long before validity would end, and the next token is still greater.
func TestAnEvictedHoldIsReportedWithTheNextRenewal(t *testing.T) {
	for _, policy := range []string{"volatile-ttl", "volatile-lru", "allkeys-lru", "allkeys-random"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			const (
				lease = 9 * time.Second
				bound = lease/3 + lease/6
				slack = lease / 4 // for the scheduler; together still below validity
			)
			server := redistest.Start(t, redistest.WithArgs("--maxmemory-policy", policy))
			admin := server.Client(t)
			client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
			lock := rlock.New(client, "evicted")
			ctx, unlock := held(t, lock)
			fence := alive(t, lock, ctx).Fence
			require.NoError(t, admin.ConfigSet(context.Background(), "maxmemory", "1").Err())
			redistest.Eventually(t, limit, func() bool {
				// A write makes Redis look for memory; this one finds none.
				_ = admin.Set(context.Background(), "new", "1", 0).Err()
				return len(server.Keys(t)) == 0
			}, "nothing is evicted")
			require.NoError(t, admin.ConfigSet(context.Background(), "maxmemory", "0").Err())
			evicted := time.Now()
			redistest.Receive(t, limit, ctx.Done(), "the hold is believed in, and Redis has none")
			require.Less(t, time.Since(evicted), bound+slack)
			redistest.Eventually(t, limit, func() bool { return len(events.losses()) == 1 }, "nobody was told")
			require.Equal(t, rlock.LossGone, events.losses()[0].Reason)
			require.ErrorIs(t, unlock(), rlock.ErrLost)
			ctx, unlock = held(t, lock)
			require.Greater(t, alive(t, lock, ctx).Fence, fence)
			require.NoError(t, unlock())
		})
	}
}

// A server comes back with its state from before the hold began, as after a restart from a snapshot, or a failover to
// a replica that had not received it: the older token there is no obstacle.
func TestAServerThatComesBackWithAnOlderStateForgetsTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: 9 * time.Second})
	lock := rlock.New(client, "older")
	_, before := held(t, lock)
	require.NoError(t, before())
	require.NoError(t, server.Client(t).Save(context.Background()).Err())
	ctx, unlock := held(t, lock)
	fence := alive(t, lock, ctx).Fence
	server.Kill()
	server.Restart()
	require.Len(t, server.Keys(t), 1, "the token of the hold before")
	require.False(t, exists(t, server, lock.Name()))
	redistest.Receive(t, limit, ctx.Done(), "the hold is believed in, and Redis has none")
	redistest.Eventually(t, limit, func() bool { return len(events.losses()) == 1 }, "nobody was told")
	require.Equal(t, rlock.LossGone, events.losses()[0].Reason)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	ctx, unlock = held(t, lock)
	require.Greater(t, alive(t, lock, ctx).Fence, fence)
	require.NoError(t, unlock())
}
