package redlock_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the lock over a quorum to what every lock of the module promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"three nodes": 3, "one node": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var servers []*redistest.Server
			for range size {
				servers = append(servers, redistest.Start(t))
			}
			conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
				return conformanceLab(t, servers, lease)
			})
		})
	}
}

func conformanceLab(t testing.TB, servers []*redistest.Server, lease time.Duration) conformance.Lab {
	var sent redistest.Meter
	var clients [2]*redlock.Client
	for i := range clients {
		var nodes []redis.UniversalClient
		for _, s := range servers {
			rdb := redis.NewClient(&redis.Options{Addr: s.Addr(), Dialer: sent.Dial})
			t.Cleanup(func() { _ = rdb.Close() })
			nodes = append(nodes, rdb)
		}
		client, err := redlock.NewClient(nodes, &redlock.Options{
			ClientOptions:  rlock.ClientOptions{Lease: lease, Logger: quiet, MaxPoll: 50 * time.Millisecond},
			NodeTimeout:    min(lease/6, time.Second),
			NoRestartGuard: true,
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		clients[i] = client
	}
	return conformance.Lab{
		Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
			return redlock.New(clients[client], name, opts...)
		},
		Close: func(client int) error { return clients[client].Close() },
		Sent:  sent.Sent,
		Lease: lease,
		Lacks: conformance.Moves | conformance.MinHolds | conformance.Notes,
	}
}

var quiet = slog.New(slog.DiscardHandler)
