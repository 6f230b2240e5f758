package multilock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/turns"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// As for the plain lock (defect F3): sets are released by a script of their own.
func TestSetsOfOneGoroutineShare(t *testing.T) {
	turns.Shared(t, 2, 4, func(t *testing.T, name string) rlock.Locker {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		return multilock.New([]*rlock.Lock{rlock.New(client, "a "+name), rlock.New(client, "b "+name)})
	})
}
