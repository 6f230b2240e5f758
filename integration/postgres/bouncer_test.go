package postgres_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// Behind a pgbouncer in transaction mode, with fewer connections than clients have, everything holds that is promised
// (bug 57).
func TestConformanceBehindAPooler(t *testing.T) {
	bouncer := pgtest.StartBouncer(t, pgtest.Shared(t), "transaction", "default_pool_size=3")
	conformance.RunPath(t, func(t testing.TB, lease time.Duration) conformance.Lab {
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
			Lacks: conformance.Faults | conformance.Listeners | conformance.Erasure | conformance.Keeping,
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

// A client behind a pooler hears nothing, and asks. Beside two that hear of each release at once it has its turns: the
// lock is reserved for it where it was passed over. One turn against 141 and 144 is what it once had, and one against ten
// while others only left it room. (defect G21)
func TestAClientThatHearsNothingHasItsTurns(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	migrate(t, server.URL())
	bouncer := pgtest.StartBouncer(t, server, "transaction")
	var said textlog.Log
	of := []string{bouncer.To(server.URL()), server.URL(), server.URL()}
	ctx, stop := context.WithCancel(within(t))
	var turns [3]atomic.Int64
	var all sync.WaitGroup
	for i := range of {
		l := client(t, of[i], pglock.Options{Logger: said.Logger()}).Lock("a")
		all.Go(func() {
			for ctx.Err() == nil {
				_ = l.Do(ctx, func(context.Context) error {
					time.Sleep(5 * time.Millisecond) // the work
					turns[i].Add(1)
					return nil
				})
			}
		})
	}
	eventually(t, func() bool { return said.Count("delivers no notifications") > 0 }, "it knows that it hears nothing")
	var before [3]int64
	for i := range turns {
		before[i] = turns[i].Load()
	}
	eventually(t, func() bool {
		return turns[1].Load()-before[1]+turns[2].Load()-before[2] > 600
	}, "turns of those who hear")
	stop()
	all.Wait()
	deaf, first, second := turns[0].Load()-before[0], turns[1].Load()-before[1], turns[2].Load()-before[2]
	require.GreaterOrEqual(t, 4*deaf, max(first, second), "%d turns beside %d and %d", deaf, first, second)
	require.GreaterOrEqual(t, 4*min(first, second), deaf, "%d turns beside %d and %d", deaf, first, second)
}

// Others know of a waiter behind a pooler: those who have the lock leave it room after they have released, and who looks
// is told that somebody waits. (defect G21)
func TestAWaiterThatHearsNothingIsKnown(t *testing.T) {
	t.Parallel()
	of := database(t)
	bouncer := pgtest.StartBouncer(t, pgtest.Shared(t), "transaction")
	direct, deaf := client(t, of, pglock.Options{}), client(t, bouncer.To(of), pglock.Options{})
	_, unlock := take(t, direct.Lock("a"))
	got := waiter(t, deaf.Lock("a"))
	for _, c := range []*pglock.Client{direct, deaf} {
		eventually(t, func() bool {
			seen, err := c.Lock("a").Inspect(within(t))
			require.NoError(t, err)
			return seen.Waiters > 0
		}, "somebody waits")
	}
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the waiter"))
}
