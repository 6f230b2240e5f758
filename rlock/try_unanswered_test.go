package rlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect B7: while Redis does not answer, a TryLock says so, even while others of this process wait: a caller whose
// first request is under way, one that has asked in vain for a while, those behind it, or another TryLock. It takes
// no longer than its own attempts may.
func TestTryLockSaysThatRedisDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for silence, verdict := range timeSilences {
		for name, waits := range map[string]struct {
			callers int
			since   time.Duration
		}{
			"nobody waits":                {0, 0},
			"one has just asked":          {1, 0},
			"one asks for a while":        {1, 10 * time.Second},
			"others stand behind one":     {5, 0},
			"they do that for some while": {5, 10 * time.Second},
		} {
			t.Run(name+", "+silence, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, sim *timeSim) {
					lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order")
					sim.suffer(timeAlways(verdict))
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					for range waits.callers {
						go func() { _, _, _ = lock.Lock(ctx) }()
					}
					time.Sleep(waits.since)
					synctest.Wait()
					const tries = 3 // at the same time
					said := make(chan error, tries)
					began := time.Now()
					for range tries {
						go func() {
							_, _, err := lock.TryLock(t.Context())
							said <- err
						}()
					}
					for range tries {
						err := <-said
						require.ErrorIs(t, err, rlock.ErrUnavailable)
						require.NotErrorIs(t, err, rlock.ErrBusy)
					}
					require.LessOrEqual(t, time.Since(began), timeCommand+time.Microsecond)
				})
			})
		}
	}
}

// A holder in this process is known without Redis, and so is the last refusal.
func TestTryLockIsRefusedByWhatIsKnownHere(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a, b := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(a, "order"))
		next := inspectNext(t, rlock.New(b, "order"))
		synctest.Wait()
		asked := sim.count("acquire")
		for _, client := range []*rlock.Client{a, b} {
			_, _, err := rlock.New(client, "order").TryLock(t.Context())
			require.ErrorIs(t, err, rlock.ErrBusy)
			require.NotErrorIs(t, err, rlock.ErrUnavailable)
		}
		require.Equal(t, asked, sim.count("acquire"), "nothing is sent")

		// Redis falls silent, and the waiter there learns of it: its refusal no longer counts.
		sim.suffer(timeAlways(simredis.Cut))
		time.Sleep(2 * time.Second)
		_, _, err := rlock.New(a, "order").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy, "it is held here")
		_, _, err = rlock.New(b, "order").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, rlock.ErrBusy)

		// It answers again, the waiter is refused anew and keeps its turn.
		sim.suffer(nil)
		time.Sleep(2 * time.Second)
		_, _, err = rlock.New(b, "order").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, hold.unlock())
		g := <-next
		require.NoError(t, g.unlock())
	})
}
