package memstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// near is a network on which everything takes a millisecond.
type near struct{}

func (near) Fate(memstore.Request) memstore.Fate {
	return memstore.Fate{Before: time.Millisecond, After: time.Millisecond}
}

// Defect G42: a client whose idle lock another one breaks hears of that, and its next call asks the store, however short a
// time ago that confirmed the grant.
func TestABreakOfAnIdleLockIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(near{})
		defer server.Close()
		keeper, _ := open(t, server, 0, true, minute)
		operator, _ := open(t, server, 1, true, minute)
		lock, foreign := rlock.New(keeper, "a", rlock.Keep(time.Second)), rlock.New(operator, "a")
		began := time.Now()
		_, unlock, err := lock.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, unlock())
		require.Equal(t, 1, keeper.Stats().Kept)
		require.NoError(t, foreign.Break(t.Context()))
		_, release, err := foreign.TryLock(t.Context())
		require.NoError(t, err)
		require.Less(t, time.Since(began), 50*time.Millisecond, "the store has just confirmed the grant")
		synctest.Wait() // the message arrives at this instant of the virtual time
		_, _, err = lock.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, release())
		require.NoError(t, keeper.Close())
		require.NoError(t, operator.Close())
	})
}

// Defect G45: a client that may not hear who wants its locks releases those that are idle, and keeps none until it may.
func TestAClientThatMayNotListenKeepsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(near{})
		defer server.Close()
		keeper, at := open(t, server, 0, true, minute)
		another, _ := open(t, server, 1, true, minute)
		kept := func(name string) int {
			_, unlock, err := rlock.New(keeper, name, rlock.Keep(time.Second)).Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, unlock())
			return keeper.Stats().Kept
		}
		free := func(name string) {
			_, unlock, err := rlock.New(another, name).TryLock(t.Context())
			require.NoError(t, err)
			require.NoError(t, unlock())
		}
		require.Equal(t, 1, kept("a"))
		_, unlock, err := rlock.New(keeper, "b", rlock.Keep(time.Second)).Lock(t.Context())
		require.NoError(t, err)
		at.MayListen(false)
		time.Sleep(10 * time.Millisecond)
		free("a")
		require.NoError(t, unlock())
		free("b")
		require.Zero(t, kept("c"))
		free("c")
		time.Sleep(10 * time.Second) // the names were wanted, and are not kept for a while
		at.MayListen(true)
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, 1, kept("a"))
		require.NoError(t, keeper.Close())
		require.NoError(t, another.Close())
	})
}
