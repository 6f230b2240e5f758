package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// One reader is broken, and the other one stays; an id that holds nothing breaks nothing.
func TestBreakOneTakesTheHoldThatWasMeant(t *testing.T) {
	t.Parallel()
	addr, name, ctx := redistest.Shared(t).Addr(), redistest.Key(t), conductCtx(t)
	one, other := conductClient(t, addr, nil), conductClient(t, addr, nil)
	readers := rwlock.New(one, name).Read()
	held, _ := conductTake(t, ctx, readers)
	kept, unlock := conductTake(t, ctx, rwlock.New(other, name).Read())
	hold, err := readers.Held(held)
	require.NoError(t, err)
	operator := rwlock.New(conductClient(t, addr, nil), name).Read()
	require.ErrorIs(t, operator.BreakOne(ctx, "nobody:1"), rlock.ErrNotHeld)
	require.ErrorAs(t, operator.BreakOne(ctx, "none"), new(*rlock.ArgumentError))
	require.NoError(t, operator.BreakOne(ctx, hold.ID))
	require.ErrorIs(t, operator.BreakOne(ctx, hold.ID), rlock.ErrNotHeld)
	require.NoError(t, kept.Err())
	require.NoError(t, unlock(), "it still held")
}
