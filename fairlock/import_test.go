package fairlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A waiter that asked Redis before its own process imported the hold keeps its place while that hold goes on: Redis
// must go on hearing of it, though there is nothing to ask for.
func TestAWaiterKeepsItsPlaceBehindAnImportedHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		first, second, third := lab.Client(nil), lab.Client(nil), lab.Client(nil)
		served := make(chan string, 2)
		var waiters sync.WaitGroup
		wait := func(client *rlock.Client, as string) {
			waiters.Go(func() {
				_, unlock, err := fairlock.New(client, "gate").Lock(context.Background())
				if err == nil {
					served <- as
					err = unlock()
				}
				if err != nil {
					t.Error(as, err)
				}
			})
			synctest.Wait()
		}
		held, _, err := fairlock.New(first, "gate").Lock(t.Context())
		require.NoError(t, err)
		wait(second, "second")
		token, err := fairlock.New(first, "gate").Export(held)
		require.NoError(t, err)
		_, unlock, err := fairlock.New(second, "gate").Import(t.Context(), token)
		require.NoError(t, err)
		wait(third, "third")

		time.Sleep(time.Minute) // fifteen times what a client may be silent before it is taken for dead
		require.NoError(t, unlock())
		require.Equal(t, "second", <-served)
		require.Equal(t, "third", <-served)
		waiters.Wait() // the clients are closed when the test returns, and the third one is about to unlock
	})
}
