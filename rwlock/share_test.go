package rwlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/turns"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// As for the plain lock, of which this is the writers' side (defect F3).
func TestWritersOfOneGoroutineShare(t *testing.T) {
	turns.Shared(t, 2, 4, func(t *testing.T, name string) rlock.Locker {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		return rwlock.New(client, name).Write()
	})
}
