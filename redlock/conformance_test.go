package redlock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
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
	var paths [2]*netfault.Path
	var listeners [2]conformance.Listener
	for i := range clients {
		paths[i] = &netfault.Path{Next: sent.Dial}
		var nodes []redis.UniversalClient
		for _, s := range servers {
			rdb := redis.NewClient(&redis.Options{Addr: s.Addr(), Dialer: paths[i].Dial})
			t.Cleanup(func() { _ = rdb.Close() })
			nodes = append(nodes, rdb)
		}
		client, err := redlock.NewClient(nodes, &redlock.Options{
			ClientOptions: rlock.ClientOptions{
				Lease: lease, MaxPoll: 50 * time.Millisecond,
				Logger: listeners[i].Logger(), Observer: listeners[i].Observer(),
			},
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
		Close:    func(client int) error { return clients[client].Close() },
		Sent:     sent.Sent,
		Path:     func(client int) *netfault.Path { return paths[client] },
		Listener: func(client int) *conformance.Listener { return &listeners[client] },
		Stats:    func(client int) rlock.Stats { return clients[client].Stats() },
		Erase: func(name string) {
			for _, s := range servers {
				rdb := s.Client(t)
				require.NoError(t, rdb.Del(context.Background(), name).Err())
				require.NoError(t, rdb.Close())
			}
		},
		Lease: lease,
		Lacks: conformance.Moves | conformance.MinHolds | conformance.Notes | conformance.Keeping | conformance.Waiters,
	}
}

var quiet = slog.New(slog.DiscardHandler)
