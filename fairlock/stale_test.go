package fairlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
)

// A waiter that learns of its grant when the lease is nearly over asks again. The grant took its place out of the queue,
// which nobody has lost: the waiter must not wait for one that comes back.
func TestAWaiterWhoseGrantWasToldTooLateAsksAtOnce(t *testing.T) {
	const way = 450 * time.Millisecond // of the answer; after a little more, the request is given up
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := w.lock(w.client(0))
		second := w.lock(w.client(1))
		var granted, told time.Time // when the server granted it, and when the waiter hears of that
		w.mu.Lock()
		w.does = func(r memstore.Request) memstore.Fate {
			switch {
			case r.Client != 1 || !told.IsZero() && time.Now().After(told):
				return memstore.Fate{}
			case r.Kind == memstore.Message:
				return memstore.Fate{Lost: true}
			case r.Kind == memstore.Release:
				return memstore.Fate{}
			case granted.IsZero():
				granted = time.Now()
				return memstore.Fate{Mute: true}
			case time.Since(granted) < 2600*time.Millisecond:
				return memstore.Fate{Lost: true}
			}
			told = time.Now().Add(way)
			return memstore.Fate{After: way}
		}
		w.mu.Unlock()
		waits := func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return told.IsZero() || time.Now().Before(told)
		}
		first.frees()
		for waits() {
			w.pass(10 * time.Millisecond)
			require.False(t, second.in())
		}
		require.Less(t, told.Add(-way).Sub(granted), 3*time.Second, "the server finds the hold there")
		require.Greater(t, told.Sub(granted), 2950*time.Millisecond, "the waiter hears of it when the lease is nearly over")
		w.pass(time.Second) // it pauses after requests without answers, for half a second at most
		require.True(t, second.in(), "the lock is free, and nobody else waits")
		second.frees()
	})
}
