package fairlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// Inspect tells who holds and who waits, in all processes, since when and in which order (needs 24).
func TestInspectShowsTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	look := func() rlock.Info {
		t.Helper()
		info, err := a.Inspect(context.Background())
		require.NoError(t, err)
		return info
	}
	require.Empty(t, look())
	first := a.take()
	before := l.rdb.Time(context.Background()).Val()
	second, third, fourth := b.wait(), a.wait(), a.wait()
	info := look()
	require.Len(t, info.Holders, 1)
	require.Equal(t, first.known(t).ID, info.Holders[0].ID)
	require.Equal(t, first.known(t).Fence, info.Holders[0].Fence)
	require.True(t, info.Holders[0].Mine)
	require.Equal(t, 1, info.Holders[0].Count)
	require.InDelta(t, never, info.Holders[0].TTL, float64(time.Minute))
	require.Equal(t, 3, info.Waiters)
	require.Len(t, info.Queue, 3)
	for i, w := range info.Queue {
		require.Equal(t, i > 0, w.Mine)
		require.False(t, w.Since.Before(before.Truncate(time.Microsecond)), "%v before %v", w.Since, before)
		before = w.Since
	}
	first.frees(t)
	h := l.arrives(second)
	require.Equal(t, info.Queue[0].ID, h.known(t).ID, "a waiter's id is its hold's")
	require.Equal(t, 2, look().Waiters)
	l.inOrder(h, third, fourth)
	require.Empty(t, look().Queue)
	l.clean()
}

// Break ends the hold, and the first in the queue gets in.
func TestBreakLetsTheFirstIn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, c := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	require.ErrorIs(t, c.Break(context.Background()), rlock.ErrNotHeld)
	first := a.take()
	second, third := b.wait(), c.wait()
	require.NoError(t, a.Break(context.Background()))
	require.ErrorIs(t, first.ends(t), rlock.ErrLost)
	h := l.arrives(second)
	require.ErrorIs(t, first.unlock(), rlock.ErrLost)
	require.Empty(t, third)
	l.inOrder(h, third)
	l.clean()
}

// A hold moves to another process past the queue, which waits for its end there.
func TestAHoldMovesPastTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, c := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.take()
	fence := first.known(t).Fence
	next := b.wait()
	token, err := a.Export(first.ctx)
	require.NoError(t, err)
	require.Empty(t, next)
	ctx, unlock, err := c.Import(context.Background(), token)
	require.NoError(t, err)
	moved := hold{c.Lock, ctx, unlock, nil}
	require.Equal(t, fence, moved.known(t).Fence)
	l.inOrder(moved, next)
	_, _, err = c.Import(context.Background(), token)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	l.clean()
}
