package simulation

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// twice is a network that doubles acquisitions. The copies come in time.
type twice struct{}

func (twice) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Kind == memstore.Acquire {
		fate.Again = glance
	}
	return fate
}

// A lock is free while a process keeps it idle, and not while it is held, was exported, or was taken for nobody by a
// copy of an acquisition, though no process knows of the last two.
func TestWhatIsFreeAmongKeptLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{kind: &keptKind, server: memstore.NewServer(twice{})}
		defer w.server.Close()
		w.processes = append(w.processes, w.open(t, 0, true))
		client := w.processes[0].client
		defer func() { require.NoError(t, client.Close()) }()
		ctx, lock := context.Background(), rlock.New(client, "a")
		free := func() bool { return keptKind.idle(w, []*wait{{want: of(lock, 1, false)}}) }
		require.True(t, free(), "nothing stands")

		_, unlock, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, unlock())
		require.True(t, free(), "it was released")
		time.Sleep(2 * glance)
		require.NotEmpty(t, w.server.Holder("a"), "the copy took it")
		require.False(t, free(), "the copy took it")
		time.Sleep(lease)
		require.True(t, free(), "its lease is over")

		_, unlock, err = rlock.New(client, "a", rlock.Keep(time.Second)).Lock(ctx)
		require.NoError(t, err)
		require.False(t, free(), "it is held")
		require.NoError(t, unlock())
		require.NotEmpty(t, w.server.Holder("a"), "it is kept")
		require.True(t, free(), "it is kept")

		time.Sleep(2 * time.Second)
		held, _, err := lock.Lock(ctx)
		require.NoError(t, err)
		time.Sleep(2 * glance) // the copy finds the hold
		token, err := lock.Export(held)
		require.NoError(t, err)
		require.False(t, free(), "it is on its way")

		_, unlock, err = lock.Import(ctx, token)
		require.NoError(t, err)
		require.NoError(t, unlock())
		require.True(t, free(), "it was released")
	})
}
