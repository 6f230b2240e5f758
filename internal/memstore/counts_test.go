package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// doubled is a network that copies the acquisitions of client 0.
type doubled time.Duration

func (d doubled) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Kind == memstore.Acquire && r.Client == 0 {
		fate.Again = time.Duration(d)
	}
	return fate
}

// What a copy of a refused request takes, when its caller has left, comes back though the client closes: no lease ends
// what nobody owns.
func TestClosingCancelsWhatACopyTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const copied = 100 * time.Millisecond
		server := memstore.NewServer(doubled(copied))
		defer server.Close()
		var clients [2]*rlock.Client
		for i := range clients {
			clients[i], _ = open(t, server, i, true, minute)
			defer func() { require.NoError(t, clients[i].Close()) }()
		}
		leaves, other := semaphore.NewCounting(clients[0], "a"), semaphore.NewCounting(clients[1], "a")
		require.NoError(t, other.Set(t.Context(), 1))
		require.NoError(t, other.TryAcquire(t.Context(), 1))

		ctx, cancel := context.WithTimeout(t.Context(), copied/2)
		defer cancel()
		require.ErrorIs(t, leaves.Acquire(ctx, 1), rlock.ErrBusy)
		require.NoError(t, other.Release(t.Context(), 1))
		time.Sleep(copied)
		require.ErrorIs(t, other.TryAcquire(t.Context(), 1), rlock.ErrBusy, "the copy has it")
		require.NoError(t, clients[0].Close())
		require.NoError(t, other.TryAcquire(t.Context(), 1))
	})
}
