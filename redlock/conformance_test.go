package redlock_test

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/conformance"
	"github.com/holdfast-go/holdfast/internal/redistest"
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
			conformance.Run(t, func(t testing.TB) conformance.Lab { return conformanceLab(t, servers) })
		})
	}
}

func conformanceLab(t testing.TB, servers []*redistest.Server) conformance.Lab {
	const lease = 1200 * time.Millisecond
	var sent meter
	var clients [2]*redlock.Client
	for i := range clients {
		var nodes []redis.UniversalClient
		for _, s := range servers {
			rdb := redis.NewClient(&redis.Options{Addr: s.Addr(), Dialer: sent.dial})
			t.Cleanup(func() { _ = rdb.Close() })
			nodes = append(nodes, rdb)
		}
		client, err := redlock.NewClient(nodes, &redlock.Options{
			ClientOptions:  rlock.ClientOptions{Lease: lease, Logger: quiet, MaxPoll: 50 * time.Millisecond},
			NodeTimeout:    lease / 6,
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
		Sent:  sent.settled,
		Lease: lease,
	}
}

var quiet = slog.New(slog.DiscardHandler)

// meter counts what clients write, and their dials.
type meter struct{ atomic.Int64 }

// settled is the count when nothing more is on its way: a call returns when a quorum answered, and what the
// other nodes are told goes on.
func (m *meter) settled() int64 {
	const quietFor = 30 * time.Millisecond
	for last := m.Load(); ; {
		<-time.After(quietFor)
		now := m.Load()
		if now == last {
			return now
		}
		last = now
	}
}

type meteredConn struct {
	net.Conn
	sent *meter
}

func (c meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	m.Add(1)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return meteredConn{conn, m}, nil
}
