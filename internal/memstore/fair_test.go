package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// A TryLock that is refused because of somebody who does not know of the queue listens to nobody: it does not wait.
func TestATryListensToNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(nil)
		defer server.Close()
		stranger, _ := open(t, server, 0, true, minute)
		client, _ := open(t, server, 1, true, minute)
		_, unlock, err := rlock.New(stranger, "a").Lock(t.Context())
		require.NoError(t, err)
		_, _, err = fairlock.New(client, "a").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
		time.Sleep(minute)
		require.Empty(t, server.Left())
	})
}

// adopting is a network on which adoptions, of which an export is one, take their time.
type adopting time.Duration

func (a adopting) Fate(of memstore.Request) (fate memstore.Fate) {
	if of.Kind == memstore.Adopt {
		fate.Before = time.Duration(a)
	}
	return fate
}

// An export that finds its hold gone takes away the place of the waiter that the hold was passed on to: nobody else
// would, and the lock would be given to that place time and again.
func TestAnExportOfAHoldThatIsGoneLeavesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		server := memstore.NewServer(adopting(trip))
		defer server.Close()
		client, _ := open(t, server, 0, true, minute)
		other, _ := open(t, server, 1, true, minute)
		lock, breaks := fairlock.New(client, "a"), fairlock.New(other, "a")
		_, unlock, err := breaks.Lock(t.Context())
		require.NoError(t, err)
		var held [2]context.Context
		var unlocks [2]func() error
		for i := range held {
			go func() { held[i], unlocks[i], _ = lock.Lock(t.Context()) }()
			synctest.Wait() // it has its place
		}
		time.Sleep(trip) // for some tokens to spare
		require.NoError(t, unlock())
		synctest.Wait()
		require.NoError(t, unlocks[0]())
		synctest.Wait()
		require.NoError(t, held[1].Err())
		require.Regexp(t, `the queue of "a": \[\{.*:2 `, server.Left(), "it was passed on to in memory, and its place stands")

		time.AfterFunc(trip/2, func() { _ = breaks.Break(context.Background()) })
		_, err = lock.Export(held[1])
		require.ErrorIs(t, err, rlock.ErrLost)
		time.Sleep(minute)
		require.Empty(t, server.Left())
	})
}
