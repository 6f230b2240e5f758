package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/numbers"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// TestConformance holds a semaphore of one permit to what every lock of the module promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		lab, clients := onredis.Lab(t, server.Addr(), rlock.ClientOptions{Lease: lease})
		keeper := newClient(t, server.Addr(), nil)
		lab.Lock = func(client int, name string, opts ...rlock.Option) conformance.Lock {
			require.NoError(t, semaphore.New(keeper, name).SetCapacity(context.Background(), 1))
			return numbers.Permit{Semaphore: semaphore.New(clients[client], name, opts...)}
		}
		lab.Lacks = numbers.PermitLacks
		return lab
	})
}

// TestNumbers holds a counting semaphore, and a latch beside it, to what they promise. Below zero the number is told
// (defect G61).
func TestNumbers(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	numbers.Run(t, func(t testing.TB) (clients numbers.Clients) {
		var sent redistest.Meter
		for i := range clients {
			clients[i] = onredis.Client(t, server.Addr(), &sent, rlock.ClientOptions{})
		}
		return clients
	})
}
