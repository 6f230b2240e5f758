package rlock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the reentrant lock to what every lock of the module promises; need 17 is among
// it, and need 18: unlocking from another goroutine, and queueing without the hold's context.
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
				return rlock.New(clients[client], name, opts...)
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  sent.Sent,
			Lease: lease,
		}
	})
}
