package semaphore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/turns"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// one is a semaphore of which a permit is a turn.
type one struct{ *semaphore.Semaphore }

func (s one) Lock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return s.Acquire(ctx, 1)
}

func (s one) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return s.TryAcquire(ctx, 1)
}

func (s one) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.Semaphore.Do(ctx, 1, fn)
}

// As for the plain lock, which a semaphore of one permit is like (defect F3).
func TestAcquirersOfOneGoroutineShare(t *testing.T) {
	turns.Shared(t, 2, 4, func(t *testing.T, name string) rlock.Locker {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		sem := semaphore.New(client, name)
		_, err = sem.SetCapacityIfAbsent(t.Context(), 1)
		require.NoError(t, err)
		return one{sem}
	})
}
