package integration_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// This is defect G51.
func TestLocksLiveOnIPv6(t *testing.T) {
	t.Parallel()
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		life(t, redistest.Start(t, redistest.OnIPv6()).Client(t), "single")
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		life(t, redistest.Sentinel(t, redistest.OnIPv6()).Client(t), "sentinel")
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		life(t, redistest.Cluster(t, 2, redistest.OnIPv6()).Client(t), "cluster")
	})
}

func TestARedlockLivesOnIPv6(t *testing.T) {
	t.Parallel()
	var nodes []redis.UniversalClient
	for range 3 {
		nodes = append(nodes, redistest.Start(t, redistest.OnIPv6()).Client(t))
	}
	renewed := make(chan struct{}, 1)
	client, err := redlock.NewClient(nodes, &redlock.Options{
		NoRestartGuard: true, NodeTimeout: time.Second,
		ClientOptions: rlock.ClientOptions{
			Lease: 6 * time.Second, Logger: slog.New(slog.DiscardHandler),
			Observer: &rlock.Observer{Renewed: func(r rlock.Renewal) {
				select {
				case renewed <- struct{}{}:
				default:
				}
				assert.NoError(t, r.Err)
			}},
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	ctx, unlock, err := redlock.New(client, "quorum").Lock(within(t))
	require.NoError(t, err)
	redistest.Receive(t, limit, renewed, "it is not renewed")
	require.NoError(t, ctx.Err())
	require.NoError(t, unlock())
}

// The holder follows a failover, by the addresses that the Sentinels and the replicas name.
func TestAHoldLivesThroughAFailoverOnIPv6(t *testing.T) {
	t.Parallel()
	lab := redistest.Sentinel(t, redistest.OnIPv6())
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: sentinelLease})
	lock := rlock.New(client, "failover")
	ctx, unlock := held(t, lock)
	next := lab.Failover(t)
	last := pttl(t, next, lock.Name())
	require.Positive(t, last, "the key was not replicated")
	redistest.Eventually(t, limit, func() bool {
		rest := pttl(t, next, lock.Name())
		grown := rest > last
		last = rest
		return grown
	}, "no renewal reached the new primary")
	alive(t, lock, ctx)
	require.NoError(t, unlock())
	require.Empty(t, events.losses())
}

// A server names its address without brackets when it redirects, and the client's map has them. A hold that must be
// confirmed is renewed on a connection that follows no redirection by itself: while its slot moves, and for the ASK and
// the MOVED after that, until the map is new (defect G51).
func TestConfirmedHoldsLiveThroughASlotMigrationOnIPv6(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]rlock.ClientOptions{
		"MinReplicas": {MinReplicas: 1}, "Fsync": {Fsync: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := redistest.Cluster(t, 2, redistest.OnIPv6(), redistest.AtLeast(t, 7, 2),
				redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
			for i := range lab.Len() {
				clusterReplica(t, lab, i, redistest.OnIPv6(), redistest.AtLeast(t, 7, 2))
			}
			opts.Lease = 5 * migrationLease
			client, events := newClient(t, lab.Client(t), opts)
			m := beginMove(t, lab, "slot")
			lock := rlock.New(client, m.name("moved"))
			ctx, unlock := held(t, lock)
			m.start(t)
			m.carry(t, lock.Name(), keys.Token(lock.Name()))
			events.renewedAgain(t, 3, lock.Name())
			m.finish(t)
			require.NoError(t, rlock.New(client, m.name("free")).Do(within(t),
				func(context.Context) error { return nil }))
			events.renewedAgain(t, 2, lock.Name())
			alive(t, lock, ctx)
			require.NoError(t, unlock())
			require.Empty(t, events.losses())
		})
	}
}
