package observertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// under are the holds that an inner level may come to while the outer one ends.
var under = map[string]struct {
	lock   func(c *rlock.Client, opts ...rlock.Option) *rlock.Lock
	others int // who read meanwhile
}{
	"a lock": {func(c *rlock.Client, opts ...rlock.Option) *rlock.Lock { return rlock.New(c, "gate", opts...) }, 0},
	"a reader": {func(c *rlock.Client, opts ...rlock.Option) *rlock.Lock {
		return rwlock.New(c, "gate", opts...).Read()
	}, 0},
	"a reader among others": {func(c *rlock.Client, opts ...rlock.Option) *rlock.Lock {
		return rwlock.New(c, "gate", opts...).Read()
	}, 2},
}

// fates are what becomes of an inner level that Redis is asked for while the outer one is unlocked: how the hold of
// both ends, and that of each other reader.
var fates = map[string]struct {
	act          func(at *lab, cancel context.CancelFunc)
	broken       bool // before Redis is asked
	comes        bool
	mine, others lock.Outcome
}{
	"it comes": {func(at *lab, _ context.CancelFunc) { at.Thaw() },
		false, true, lock.OutcomeReleased, lock.OutcomeReleased},
	"its caller leaves": {func(at *lab, cancel context.CancelFunc) {
		cancel()
		synctest.Wait()
		at.Thaw()
	}, false, false, lock.OutcomeReleased, lock.OutcomeReleased},
	"Redis lost the hold": {func(at *lab, _ context.CancelFunc) { at.Thaw() },
		true, false, lock.OutcomeLost, lock.OutcomeLost},
	"the lease ends first": {func(at *lab, _ context.CancelFunc) { time.Sleep(2 * lease); at.Thaw() },
		false, false, lock.OutcomeLost, lock.OutcomeLost},
}

func TestAnInnerLevelThatIsUnderWayWhenTheOuterOneEnds(t *testing.T) {
	t.Parallel()
	for which, outer := range under {
		for what, fate := range fates {
			t.Run(which+", "+what, func(t *testing.T) {
				on(t, func(t *testing.T, c *rlock.Client, at *lab, told *observertest.Checker) {
					var unlocks []func() error
					for range outer.others {
						_, unlock := take(t, outer.lock(c), t.Context())
						unlocks = append(unlocks, unlock)
					}
					inner := outlived(t, c, at, outer.lock, fate.broken, fate.act)
					require.Equal(t, fate.comes, inner != nil)
					if inner != nil {
						require.Empty(t, told.Holds(), "the inner level has the hold")
						require.NoError(t, inner())
					}
					for _, unlock := range unlocks {
						_ = unlock() // the outcome is told
					}
				}, func(told *observertest.Checker) {
					var ends, want outcomes
					for _, e := range told.Holds() {
						ends = append(ends, lock.OutcomeOfHold(e.Err))
					}
					want = append(want, fate.mine)
					if fate.broken && outer.others > 0 {
						want[0] = lock.OutcomeReleased // as unlock had said, which asks nobody while others read
					}
					for range outer.others {
						want = append(want, fate.others)
					}
					assert.ElementsMatch(t, want, ends)
					assert.Len(t, told.Calls(), 1+outer.others)
				})
			})
		}
	}
}

// outlived unlocks an outer level while an inner one is under way, of which act decides, and returns the unlock of the
// inner one if it comes to be.
func outlived(
	t *testing.T, c *rlock.Client, at *lab, open func(*rlock.Client, ...rlock.Option) *rlock.Lock,
	broken bool, act func(*lab, context.CancelFunc),
) (unlockInner func() error) {
	t.Helper()
	held, unlock := take(t, open(c), t.Context())
	if broken {
		require.NoError(t, open(client(at, nil)).Break(t.Context()))
	}
	at.Freeze()
	ctx, cancel := context.WithCancel(context.WithoutCancel(held)) // the end of the outer level is no end of it
	defer cancel()
	came := make(chan func() error, 1)
	go func() {
		_, unlock, err := open(c, rlock.FixedLease(time.Minute)).Lock(ctx)
		if err != nil {
			unlock = nil
		}
		came <- unlock
	}()
	synctest.Wait()
	unlocked := make(chan error, 1)
	go func() { unlocked <- unlock() }()
	synctest.Wait()
	act(at, cancel)
	unlockInner = <-came
	<-unlocked
	return unlockInner
}

// A grant that comes when its client is closed is nobody's, and no hold was told of.
func TestAGrantAfterCloseIsNotTold(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, at *lab, _ *observertest.Checker) {
		at.Freeze()
		failed := make(chan error, 1)
		go func() {
			_, _, err := rlock.New(c, "gate").TryLock(t.Context())
			failed <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		at.Thaw()
		require.Error(t, <-failed)
		<-closed
		other := client(at, nil)
		_, unlock := take(t, rlock.New(other, "gate"), t.Context())
		require.NoError(t, unlock())
	}, func(told *observertest.Checker) {
		require.Len(t, told.Calls(), 1)
		assert.ErrorIs(t, told.Calls()[0].Err, rlock.ErrClosed)
		assert.Empty(t, told.Holds())
	})
}

// A member is lost while the set still waits for another one.
func TestASetWhoseMemberIsLostBeforeItIsWhole(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, at *lab, _ *observertest.Checker) {
		elsewhere := &lab{Lab: holdfasttest.New(t)}
		slow := client(elsewhere, nil)
		elsewhere.Freeze()
		result := make(chan error, 1)
		go func() {
			held, unlock, err := multilock.New([]*rlock.Lock{rlock.New(c, "a"), rlock.New(slow, "b")}).Lock(t.Context())
			if err == nil {
				err = errors.Join(context.Cause(held), unlock())
			}
			result <- err
		}()
		synctest.Wait()
		at.Lose("a", rlock.LossGone)
		elsewhere.Thaw()
		require.NoError(t, <-result, "the set takes that member again")
		require.NoError(t, slow.Close())
	}, func(told *observertest.Checker) {
		require.Len(t, told.Calls(), 1)
		require.Len(t, told.Holds(), 1)
		assert.NoError(t, told.Holds()[0].Err)
	})
}
