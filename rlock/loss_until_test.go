package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// Held tells how long the level lasts at most: the hold's MaxHold counts, and so does its own fixed lease.
func TestValidUntilKnowsEveryLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		until := func(ctx context.Context) time.Duration {
			hold, err := rlock.New(client, "order").Held(ctx)
			require.NoError(t, err)
			return time.Until(hold.ValidUntil)
		}
		outer, unlock, err := rlock.New(client, "order", rlock.MaxHold(20*time.Second)).Lock(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, until(outer), 20*time.Second)
		require.Greater(t, until(outer), 19*time.Second)
		inner, unlockInner, err := rlock.New(client, "order").Lock(outer)
		require.NoError(t, err)
		require.LessOrEqual(t, until(inner), 20*time.Second, "by whichever handle")
		require.Greater(t, until(inner), 19*time.Second)
		brief, unlockBrief, err := rlock.New(client, "order", rlock.MaxHold(5*time.Second)).Lock(inner)
		require.NoError(t, err)
		require.LessOrEqual(t, until(brief), 5*time.Second)
		require.NoError(t, unlockBrief())
		require.NoError(t, unlockInner())
		require.NoError(t, unlock())
	})
}
