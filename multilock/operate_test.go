package multilock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// An operator sees each member, in the order of the list, and takes all from their holders.
func TestASetIsInspectedAndBroken(t *testing.T) {
	t.Parallel()
	addr, all := redistest.Shared(t).Addr(), names(t, 3)
	ours, theirs := clientAt(t, addr, nil), clientAt(t, addr, nil)
	set := multilock.New([]*rlock.Lock{
		rlock.New(ours, all[2]), rlock.New(ours, all[0]), rwlock.New(ours, all[1]).Write(),
	})
	require.ErrorIs(t, set.Break(within(t)), rlock.ErrNotHeld)

	other, _, err := rlock.New(theirs, all[0]).Lock(within(t))
	require.NoError(t, err)
	writer, _, err := rwlock.New(ours, all[1]).Write().Lock(within(t))
	require.NoError(t, err)
	infos, err := set.Inspect(within(t))
	require.NoError(t, err)
	require.Len(t, infos, 3)
	require.Empty(t, infos[0].Holders)
	require.False(t, infos[1].Holders[0].Mine)
	require.True(t, infos[2].Holders[0].Mine)

	// One who waits for the set may take a member while the others are broken, and then lose it.
	require.NoError(t, set.Break(within(t)), "that nobody has the first does not matter")
	require.NoError(t, set.Do(within(t), func(context.Context) error { return nil }), "the set is free")
	<-writer.Done()
	require.ErrorIs(t, context.Cause(writer), rlock.ErrLost)
	infos, err = set.Inspect(within(t))
	require.NoError(t, err)
	for _, info := range infos {
		require.Empty(t, info.Holders)
	}
	require.NoError(t, other.Err(), "which its client learns with the next renewal")
}

// One member that does not answer keeps nobody from seeing and breaking the rest.
func TestASetIsBrokenWithoutOneOfItsServers(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	here, gone := lab.Client(nil), lab.Client(nil)
	set := multilock.New([]*rlock.Lock{rlock.New(gone, "gone"), rlock.New(here, "here")})
	held, _, err := rlock.New(here, "here").Lock(within(t))
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	infos, err := set.Inspect(within(t))
	require.ErrorIs(t, err, rlock.ErrClosed)
	require.Len(t, infos[1].Holders, 1)
	require.ErrorIs(t, set.Break(within(t)), rlock.ErrClosed)
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), rlock.ErrLost)

	var bad *rlock.ArgumentError
	_, err = multilock.New(nil).Inspect(within(t))
	require.ErrorAs(t, err, &bad)
	require.ErrorAs(t, multilock.New(nil).Break(within(t)), &bad)
}
