package pglock_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// TestConformance holds the lock to what every lock of the module promises; terms of leaders nest (defect G63).
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		var sent meter
		var paths [2]*netfault.Path
		var listeners [2]conformance.Listener
		var clients [2]*pglock.Client
		url := database(t)
		for i := range clients {
			paths[i] = &netfault.Path{Next: sent.dial}
			of := pool(t, url, func(c *pgxpool.Config) { c.ConnConfig.DialFunc = paths[i].Dial })
			clients[i] = client(t, of, pglock.Options{
				Lease: lease, MaxConns: 2, Observer: listeners[i].Observer(), Logger: listeners[i].Logger(),
			})
		}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return clients[n].Lock(name, opts...)
			},
			Close:    func(n int) error { return clients[n].Close() },
			Sent:     sent.writes.Load,
			Path:     func(n int) *netfault.Path { return paths[n] },
			Listener: func(n int) *conformance.Listener { return &listeners[n] },
			Stats:    func(n int) lock.Stats { return clients[n].Stats() },
			Erase: func(name string) {
				conn, err := pgx.Connect(within(t), url)
				require.NoError(t, err)
				_, err = conn.Exec(within(t), "DELETE FROM holdfast_lock WHERE name = $1", name)
				require.NoError(t, err)
				require.NoError(t, conn.Close(within(t)))
			},
			Lease: lease,
			Lacks: conformance.Keeping,
		}
	})
}
