package fairlock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/conformance"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the fair lock to what every lock of the module promises. It runs before the tests that
// run side by side: its leases are too short for a machine on which forty processes wait.
func TestConformance(t *testing.T) {
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB) conformance.Lab {
		const lease = 600 * time.Millisecond
		var sent meter
		var clients [2]*rlock.Client
		for i := range clients {
			clients[i] = metered(t, server.Addr(), &sent, lease)
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				return fairlock.New(clients[client], name, opts...)
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  sent.Load,
			Lease: lease,
		}
	})
}

// meter counts what the connections of a client write, and each dial.
type meter struct{ atomic.Int64 }

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

func metered(t testing.TB, addr string, sent *meter, lease time.Duration) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: sent.dial})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		if err := rdb.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return client
}
