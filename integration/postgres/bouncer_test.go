package postgres_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// Behind a pgbouncer in transaction mode, with fewer connections than clients have, everything holds that is promised
// (bug 57).
func TestConformanceBehindAPooler(t *testing.T) {
	bouncer := pgtest.StartBouncer(t, pgtest.Shared(t), "transaction", "default_pool_size=3")
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		var sent atomic.Int64
		config, err := pgxpool.ParseConfig(bouncer.To(database(t)))
		require.NoError(t, err)
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &metered{conn, &sent}, err
		}
		pool, err := pgxpool.NewWithConfig(context.Background(), config)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		var clients []*pglock.Client
		for range 2 {
			c, err := pglock.NewClient(pool, &pglock.Options{Lease: lease, MaxPoll: 100 * time.Millisecond, Logger: quiet})
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			clients = append(clients, c)
		}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return clients[n].Lock(name, opts...)
			},
			Close: func(n int) error { return clients[n].Close() },
			Sent:  sent.Load, Lease: lease,
		}
	})
}

// metered counts what is written to a connection.
type metered struct {
	net.Conn
	writes *atomic.Int64
}

func (m *metered) Write(p []byte) (int, error) {
	m.writes.Add(1)
	return m.Conn.Write(p)
}
