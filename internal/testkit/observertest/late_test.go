package observertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// slow makes an observer whose nth Held lasts until the hold is lost.
func slow(at *lab, nth int) *rlock.Observer {
	return &rlock.Observer{Held: func(context.Context, rlock.Call) context.Context {
		if nth--; nth == 0 {
			at.Freeze()
			time.Sleep(2 * lease)
			at.Thaw()
		}
		return nil
	}}
}

// A hold that is lost while the observer is told of it ends, too, and the call goes on.
func TestAHoldThatIsLostWhileItIsToldOf(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		nth  int
		take func(c *rlock.Client) *rlock.Lock
		want outcomes
	}{
		"by itself": {1, func(c *rlock.Client) *rlock.Lock { return rlock.New(c, "gate") },
			outcomes{lock.OutcomeLost, lock.OutcomeReleased}},
		"with a reader": {2, func(c *rlock.Client) *rlock.Lock { return rwlock.New(c, "gate").Read() },
			outcomes{lock.OutcomeLost, lock.OutcomeLost, lock.OutcomeReleased}},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, func(t *testing.T, _ *rlock.Client, at *lab, told *observertest.Checker) {
				c := client(at, lock.JoinObservers(slow(at, one.nth), told.Observer()))
				for range one.nth - 1 {
					take(t, one.take(c), t.Context())
				}
				_, unlock := take(t, one.take(c), t.Context())
				require.NoError(t, unlock())
				_ = c.Close()
			}, func(told *observertest.Checker) {
				var ends outcomes
				for _, e := range told.Holds() {
					ends = append(ends, lock.OutcomeOfHold(e.Err))
				}
				assert.ElementsMatch(t, one.want, ends)
				assert.Len(t, told.Calls(), one.nth)
			})
		})
	}
}
