package semaphore_test

import (
	"context"
	"testing"
	"time"

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
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		var sent redistest.Meter
		var clients [2]*rlock.Client
		for i := range clients {
			clients[i] = conformance.Client(t, server.Addr(), &sent, rlock.ClientOptions{Lease: lease})
		}
		keeper := newClient(t, server.Addr(), nil)
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				require.NoError(t, semaphore.New(keeper, name).SetCapacity(context.Background(), 1))
				return one{semaphore.New(clients[client], name, opts...)}
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  sent.Sent,
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
