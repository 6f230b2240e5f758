package semaphore_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/conformance"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// TestConformance holds a semaphore of one permit to what every lock of the module promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB) conformance.Lab {
		const lease = 600 * time.Millisecond
		var sent atomic.Int64
		var clients [2]*rlock.Client
		for i := range clients {
			clients[i] = metered(t, server.Addr(), &sent, lease)
		}
		keeper := newClient(t, server.Addr(), nil)
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				require.NoError(t, semaphore.New(keeper, name).SetCapacity(context.Background(), 1))
				return one{semaphore.New(clients[client], name, opts...)}
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  sent.Load,
			Lease: lease,
			Lacks: conformance.Reentry | conformance.Fencing | conformance.Knowledge,
		}
	})
}

// one is one permit as a lock.
type one struct{ *semaphore.Semaphore }

func (o one) Lock(ctx context.Context) (context.Context, func() error, error) {
	return o.Acquire(ctx, 1)
}

func (o one) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return o.TryAcquire(ctx, 1)
}

func (o one) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return o.Semaphore.Do(ctx, 1, fn)
}

// Held knows no more than the context does: permits are not looked up.
func (o one) Held(ctx context.Context) (rlock.Hold, error) {
	if cause := context.Cause(ctx); cause != nil {
		return rlock.Hold{}, cause
	}
	return rlock.Hold{}, rlock.ErrNotHeld
}

// metered makes a client whose traffic is counted, dials included.
func metered(t testing.TB, addr string, sent *atomic.Int64, lease time.Duration) *rlock.Client {
	t.Helper()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		sent.Add(1)
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, addr)
		return meteredConn{conn, sent}, err
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: dial})
	client, err := rlock.NewClient(rdb, quiet(&rlock.ClientOptions{Lease: lease}))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		_ = rdb.Close()
	})
	return client
}

type meteredConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}
