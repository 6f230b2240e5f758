package rlock_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// defect D12: a nested Lock returns ErrReleased with a context that an unlock ended, and only then: it is the
// context's cause. With the context of a hold that was lost it returns the loss.
func TestWhenANestedLockSaysReleased(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		lock := rlock.New(client, "order")
		outer := timeLock(t, t.Context(), lock)
		require.NoError(t, outer.unlock())
		inner := timeLock(t, timeLock(t, t.Context(), rlock.New(client, "order", rlock.FixedLease(time.Second))).ctx, lock)
		<-inner.ctx.Done()

		for name, c := range map[string]struct {
			ctx  context.Context
			want error
		}{
			"unlocked":                  {outer.ctx, rlock.ErrReleased},
			"lost":                      {inner.ctx, rlock.ErrLost},
			"lost, and cannot be ended": {context.WithoutCancel(inner.ctx), rlock.ErrLost},
		} {
			for _, try := range []func(context.Context) (context.Context, func() error, error){lock.Lock, lock.TryLock} {
				_, _, err := try(c.ctx)
				require.ErrorIs(t, err, c.want, name)
				for _, other := range []error{rlock.ErrReleased, rlock.ErrLost} {
					if other != c.want {
						require.NotErrorIs(t, err, other, name)
					}
				}
			}
		}
		_, err := lock.Held(context.WithoutCancel(inner.ctx))
		timeLost(t, err, rlock.LossExpired)
		timeLost(t, inner.unlock(), rlock.LossExpired)
	})
}

// defect D12: the documentation of Lock names every error that a nested Lock can return.
func TestLockDocumentsWhatANestedLockReturns(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../lock/lock.go")
	require.NoError(t, err)
	doc, _, found := strings.Cut(string(source), "\nfunc (l *Lock) Lock(")
	require.True(t, found)
	doc = doc[strings.LastIndex(doc, "\n\n"):]
	_, refusals, found := strings.Cut(doc, "What Lock does depends on ctx.")
	require.True(t, found)
	refusals, _, found = strings.Cut(refusals, "The returned context is")
	require.True(t, found)
	for _, word := range []string{"ErrReleased", "*LostError", "ErrClosed", "ErrUnavailable"} {
		require.Contains(t, refusals, word)
	}
}

// defect D11: a context without holds ends with the hold that it was made in. What outlives the hold takes the
// outer context, or one that does not end; and no documentation says otherwise.
func TestWithoutHoldsEndsWithTheHold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		outer, cancel := context.WithCancel(t.Context())
		defer cancel()
		hold := timeLock(t, outer, rlock.New(sim.client(t, rlock.ClientOptions{}), "order"))
		stranger := rlock.WithoutHolds(hold.ctx)
		long := context.WithoutCancel(stranger)
		require.NoError(t, hold.unlock())
		require.ErrorIs(t, context.Cause(stranger), rlock.ErrReleased)
		require.NoError(t, long.Err())
		require.NoError(t, outer.Err())
	})
	for _, file := range []string{"doc.go", "../lock/lock.go", "vocabulary.go", "example_holds_test.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		text := strings.Join(strings.Fields(strings.ReplaceAll(string(source), "\n//", "\n")), " ")
		require.NotContains(t, text, "everybody else or that outlives", file)
		require.NotContains(t, text, "everybody else, or that outlives", file)
	}
}
