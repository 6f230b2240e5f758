package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/turns"
	"github.com/holdfast-go/holdfast/rlock"
)

// One goroutine per process is the usual pod. A process that unlocks and locks again is quicker than all that wait for
// the message of its release, and had nine turns of ten (defect F3).
func TestClientsOfOneGoroutineShare(t *testing.T) {
	turns.Shared(t, 2, 4, func(t *testing.T, name string) rlock.Locker {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		return rlock.New(client, name)
	})
}
