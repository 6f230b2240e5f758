package rlock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/conformance"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the reentrant lock to what every lock of the module promises; need 17 is among
// it, and need 18: unlocking from another goroutine, and queueing without the hold's context.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB) conformance.Lab {
		const lease = 600 * time.Millisecond
		var sent conductMeter
		var clients [2]*rlock.Client
		for i := range clients {
			clients[i] = conductMetered(t, server.Addr(), &sent, &rlock.ClientOptions{Lease: lease})
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				return rlock.New(clients[client], name, opts...)
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  sent.Load,
			Lease: lease,
		}
	})
}

// conductMeter counts what the connections of a client write, in bytes and in calls: the derived
// clients dial with the application's dialer.
type conductMeter struct {
	atomic.Int64
	writes atomic.Int64
}

type conductMeteredConn struct {
	net.Conn
	sent *conductMeter
}

func (c conductMeteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	c.sent.writes.Add(1)
	return n, err
}

// dial counts the attempt as well, so that nothing sent means not even dialled.
func (m *conductMeter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	m.Add(1)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return conductMeteredConn{conn, m}, nil
}

// conductMetered makes a client whose traffic is counted. It is closed with the test, whatever it
// holds by then.
func conductMetered(
	t testing.TB, addr string, sent *conductMeter, opts *rlock.ClientOptions,
) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: sent.dial})
	client, err := rlock.NewClient(rdb, conductQuiet(opts))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		if err := rdb.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return client
}
