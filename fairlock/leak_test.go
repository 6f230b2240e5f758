package fairlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// A lock without expiry, which some other program left, is told of by the error, shown by Inspect and ended by
// Break (defect C4).
func TestALockWithoutExpiryIsSeenAndBroken(t *testing.T) {
	t.Parallel()
	const holder = "2b3f4a5c-0000-4000-8000-000000000000:1"
	l, ctx := newLab(t), context.Background()
	p := l.peer(rlock.ClientOptions{})
	require.NoError(t, l.rdb.HSet(ctx, l.name, holder, "1").Err())
	for _, attempt := range []func() error{
		func() error { _, _, err := p.TryLock(ctx); return err },
		func() error { _, _, err := p.Lock.Lock(ctx); return err },
	} {
		err := attempt()
		require.ErrorIs(t, err, rlock.ErrKeyConflict)
		require.ErrorContains(t, err, "without expiry")
		require.ErrorContains(t, err, "Break")
	}
	info, err := p.Inspect(ctx)
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	require.Equal(t, holder, info.Holders[0].ID)
	require.Negative(t, info.Holders[0].TTL)
	require.NoError(t, p.Break(ctx))
	p.take().frees(t)
	l.clean()
}
