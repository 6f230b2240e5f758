package fairlock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the fair lock to what every lock of the module promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		var sent redistest.Meter
		var clients [2]*rlock.Client
		for i := range clients {
			clients[i] = onredis.Client(t, server.Addr(), &sent, rlock.ClientOptions{Lease: lease})
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				return fairlock.New(clients[client], name, opts...)
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  sent.Sent,
			Lease: lease,
			Lacks: conformance.MinHolds,
		}
	})
}
