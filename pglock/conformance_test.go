package pglock_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		var sent meter
		of := pool(t, database(t), func(c *pgxpool.Config) { c.ConnConfig.DialFunc = sent.dial })
		opts := pglock.Options{Lease: lease, MaxConns: 2}
		clients := []*pglock.Client{client(t, of, opts), client(t, of, opts)}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return clients[n].Lock(name, opts...)
			},
			Close: func(n int) error { return clients[n].Close() },
			Sent:  sent.writes.Load, Lease: lease,
		}
	})
}
