package latch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

// A wait touches one key, so the migration of its slot does not stop it; a count that cannot be taken off
// meanwhile is taken off once, when it is over.
func TestALatchLivesThroughASlotMigration(t *testing.T) {
	t.Parallel()
	const name = "moved"
	lab := redistest.Cluster(t, 2)
	slot := keys.Slot(name)
	from := lab.NodeFor(t, slot)
	client, err := rlock.NewClient(lab.Client(t), &rlock.ClientOptions{
		Lease: labLease, MaxPoll: 100 * time.Millisecond, ReleaseTimeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	l := latch.New(client, name)
	require.NoError(t, l.Set(t.Context(), 2))
	waited := make(chan error, 1)
	go func() { waited <- l.Wait(context.Background()) }()

	lab.SetSlotMigrating(t, slot, from, 1-from)
	lab.MoveKeys(t, slot, from, 1-from, name) // and not yet what remembers the requests
	counted := make(chan error, 1)
	go func() { counted <- l.CountDown(context.Background()) }()
	look := func() {
		t.Helper()
		count, err := l.Count(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(2), count)
	}
	look()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorIs(t, l.Wait(ctx), rlock.ErrBusy, "it has looked")
	nothingYet(t, waited, "the count is still running")
	nothingYet(t, counted, "the keys are at two nodes")
	lab.MoveKeys(t, slot, from, 1-from)
	require.NoError(t, arrives(t, counted, "it goes on"))
	lab.FinishSlot(t, slot, 1-from)
	require.NoError(t, l.CountDown(t.Context()))
	require.NoError(t, arrives(t, waited, "it is open"))
}
