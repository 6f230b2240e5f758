package rlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// maxHoldLevels are ways to be inside a hold of which one level has a MaxHold of a minute. Each returns the
// levels, and when the hold is to end, counted from its beginning.
var maxHoldLevels = map[string]func(t *testing.T, client *rlock.Client) (levels []timeHold, end time.Duration){
	"a helper re-enters by a handle of its own": func(t *testing.T, client *rlock.Client) ([]timeHold, time.Duration) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MaxHold(time.Minute)))
		return []timeHold{outer, timeLock(t, outer.ctx, rlock.New(client, "job"))}, time.Minute
	},
	"the same handle re-enters, late": func(t *testing.T, client *rlock.Client) ([]timeHold, time.Duration) {
		lock := rlock.New(client, "job", rlock.MaxHold(time.Minute))
		outer := timeLock(t, t.Context(), lock)
		time.Sleep(50 * time.Second)
		return []timeHold{outer, timeLock(t, outer.ctx, lock)}, time.Minute
	},
	"the helper has a longer limit": func(t *testing.T, client *rlock.Client) ([]timeHold, time.Duration) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MaxHold(time.Minute)))
		return []timeHold{outer, timeLock(t, outer.ctx, rlock.New(client, "job", rlock.MaxHold(time.Hour)))}, time.Minute
	},
	"only the helper has a limit": func(t *testing.T, client *rlock.Client) ([]timeHold, time.Duration) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job"))
		time.Sleep(30 * time.Second)
		inner := timeLock(t, outer.ctx, rlock.New(client, "job", rlock.MaxHold(time.Minute)))
		return []timeHold{outer, inner}, 90 * time.Second
	},
	"the helper has a longer fixed lease": func(t *testing.T, client *rlock.Client) ([]timeHold, time.Duration) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MaxHold(time.Minute)))
		return []timeHold{outer, timeLock(t, outer.ctx, rlock.New(client, "job", rlock.FixedLease(time.Hour)))}, time.Minute
	},
	"the level that took the hold is unlocked first": func(t *testing.T, client *rlock.Client) ([]timeHold, time.Duration) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MaxHold(time.Minute)))
		inner := timeLock(t, context.WithoutCancel(outer.ctx), rlock.New(client, "job"))
		require.NoError(t, outer.unlock())
		return []timeHold{inner}, time.Minute
	},
}

// defect A3: MaxHold bounds the hold, whatever its levels are and whichever of them has the limit. Until then
// every level's Held reports that end. Then all contexts end, for that reason, and the hold is released:
// nobody is told of the loss of a hold that is still renewed.
func TestMaxHoldBoundsTheHoldAndNotOneLevelOfIt(t *testing.T) {
	t.Parallel()
	for name, enter := range maxHoldLevels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{Lease: 9 * time.Second})
				began := time.Now()
				levels, end := enter(t, client)
				plain := rlock.New(client, "job")
				for time.Since(began) < end-5*time.Second {
					require.True(t, sim.holds("job"))
					time.Sleep(time.Second)
				}
				for _, l := range levels {
					require.NoError(t, l.ctx.Err())
					until := timeHeld(t, l.ctx, plain).ValidUntil
					require.LessOrEqual(t, until.Sub(began), end)
				}
				time.Sleep(time.Until(began.Add(end)))
				synctest.Wait()
				require.False(t, sim.holds("job"), "it is released")
				renewals := sim.count("renew")
				for _, l := range levels {
					timeLost(t, context.Cause(l.ctx), rlock.LossMaxHold)
					_, err := plain.Held(context.WithoutCancel(l.ctx))
					timeLost(t, err, rlock.LossMaxHold)
				}
				next := timeLock(t, t.Context(), plain)
				require.NoError(t, next.unlock())
				time.Sleep(time.Minute)
				require.Equal(t, renewals, sim.count("renew"), "it is not renewed any more")
				for _, l := range levels {
					timeLost(t, l.unlock(), rlock.LossMaxHold)
				}
			})
		})
	}
}

// A limit that came with a level that re-entered goes with that level: an inner Do that is done in time costs
// the outer hold nothing. And a timer of an hour is not left behind by a hold of a moment.
func TestMaxHoldOfAnInnerLevelEndsWithIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MaxHold(time.Hour)))
		for range 3 {
			inner := timeLock(t, outer.ctx, rlock.New(client, "job", rlock.MaxHold(time.Minute)))
			deeper := timeLock(t, inner.ctx, rlock.New(client, "job", rlock.MaxHold(30*time.Second)))
			time.Sleep(29 * time.Second)
			require.NoError(t, deeper.unlock())
			time.Sleep(29 * time.Second)
			require.NoError(t, inner.unlock())
			time.Sleep(2 * time.Minute)
			require.NoError(t, outer.ctx.Err())
		}
		require.NoError(t, outer.unlock())
		time.Sleep(2 * time.Hour)
		require.False(t, sim.holds("job"))
	})
}
