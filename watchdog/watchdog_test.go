package watchdog

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testMargin = Margin(testLease, testTick)

func TestKeptForHours(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{Of: "me"}
		k.Renew(l, 0, testLease)
		assert.Equal(t, testLease-testMargin, l.ValidUntil())
		assert.Equal(t, 1, k.Len())
		const hours = 6
		for k.clock.Now() < hours*time.Hour {
			k.sleepTo(k.clock.Now() + time.Second)
			require.Greater(t, l.ValidUntil(), k.clock.Now()+testLease/2)
		}
		calls := k.seenCalls()
		assert.Len(t, calls, hours*int(time.Hour/testPeriod))
		for i, c := range calls {
			require.Equal(t, time.Duration(i+1)*testPeriod, c.at)
			require.Equal(t, []*Lease{l}, c.due)
		}
		assert.True(t, k.Stop(l))
		assert.Zero(t, k.Len())
		k.sleepTo((hours + 1) * time.Hour)
		assert.Len(t, k.seenCalls(), len(calls), "none after Stop")
		assert.Empty(t, k.seenLosses())
		assert.Zero(t, k.wheel.Len())
	})
}

// Bug 47: validity counts from before the call, however long that takes.
func TestValidityCountsFromTheStart(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(3*time.Second, renewAll))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod + 3*time.Second - 1)
		assert.Equal(t, testLease-testMargin, l.ValidUntil())
		k.sleepTo(testPeriod + 3*time.Second)
		assert.Equal(t, testPeriod+testLease-testMargin, l.ValidUntil())
		k.sleepTo(2*testPeriod - 1)
		assert.Len(t, k.seenCalls(), 1)
		k.sleepTo(2 * testPeriod)
		assert.Len(t, k.seenCalls(), 2, "and so does the pause")
	})
}

func TestTransientFailuresAreRetried(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(fail(errDown))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(25*time.Second - 1)
		k.set(renewAll)
		k.sleepTo(25 * time.Second)
		calls := k.seenCalls()
		require.Len(t, calls, 16, "at 10 s, 11 s, ... 25 s")
		for i, c := range calls {
			assert.Equal(t, testPeriod+time.Duration(i)*testRetry, c.at)
		}
		assert.Equal(t, 25*time.Second+testLease-testMargin, l.ValidUntil())
		outcomes := k.seenOutcomes()
		require.Len(t, outcomes, 16)
		assert.Equal(t, errDown, outcomes[0])
		assert.NoError(t, outcomes[15])
		k.sleepTo(time.Hour)
		assert.Empty(t, k.seenLosses())
	})
}

func TestLostWhenFailuresLast(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(fail(errDown))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(time.Hour)
		losses := k.seenLosses()
		require.Len(t, losses, 1, "once")
		assert.Same(t, l, losses[0].lease)
		assert.Equal(t, errDown, losses[0].cause)
		requireInTime(t, losses[0], testLease-testMargin)
		assert.False(t, k.Stop(l))
		assert.Zero(t, k.Len())
		assert.Less(t, k.seenCalls()[len(k.seenCalls())-1].at, testLease, "no call for a lost lease")
	})
}

func requireInTime(t *testing.T, got loss, validUntil time.Duration) {
	t.Helper()
	require.LessOrEqual(t, got.at, validUntil)
	require.Greater(t, got.at, validUntil-testTick)
}

func TestHangingRenewalDoesNotDelayTheLoss(t *testing.T) {
	for name, limit := range map[string]time.Duration{
		"several calls time out":     testLimit,
		"one call outlasts validity": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			inKennel(t, func(cfg *Config) { cfg.Limit = limit }, func(t *testing.T, k *kennel) {
				k.set(hang)
				l := &Lease{}
				k.Renew(l, 0, testLease)
				k.sleepTo(testLease - testMargin)
				losses := k.seenLosses()
				require.Len(t, losses, 1)
				requireInTime(t, losses[0], testLease-testMargin)
				if limit > testLease {
					assert.NoError(t, losses[0].cause, "nothing has failed yet")
				} else {
					assert.Equal(t, errNoAnswer, losses[0].cause)
				}
			})
		})
	}
}

func TestCauseIsOfTheLastRenewal(t *testing.T) {
	inKennel(t, func(cfg *Config) { cfg.Limit = time.Hour }, func(t *testing.T, k *kennel) {
		k.set(fail(errDown))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod)
		k.set(renewAll)
		k.sleepTo(testPeriod + testRetry)
		k.set(hang)
		k.sleepTo(time.Hour / 2)
		require.Len(t, k.seenLosses(), 1)
		assert.NoError(t, k.seenLosses()[0].cause, "that failure was made good")
	})
}

func TestLateAnswerRevivesNothing(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(testLease, renewAll))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testLease)
		require.Len(t, k.seenLosses(), 1)
		validUntil := l.ValidUntil()
		k.sleepTo(time.Hour)
		assert.Len(t, k.seenCalls(), 1)
		assert.Len(t, k.seenLosses(), 1)
		assert.Empty(t, k.seenOutcomes())
		assert.Equal(t, validUntil, l.ValidUntil())
		k.Renew(l, k.clock.Now(), testLease)
		k.Guard(l, k.clock.Now()+testLease)
		assert.Equal(t, validUntil, l.ValidUntil(), "one life only")
		assert.Zero(t, k.Len())
	})
}

// Bug 47: the lease is valid by other means when an answer comes that is too old to
// rely on: that is a failure, not a confirmation.
func TestAnswerWhoseValidityIsOverIsAFailure(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(testLease-testMargin, renewAll))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.Renew(l, 0, time.Hour)
		until := l.ValidUntil()
		k.sleepTo(testPeriod + testLease)
		assert.Equal(t, []error{errTooLate}, k.seenOutcomes())
		assert.Equal(t, until, l.ValidUntil())
		assert.Len(t, k.seenCalls(), 1)
		k.sleepTo(testPeriod + testLease - testMargin + testRetry)
		assert.Len(t, k.seenCalls(), 2, "tried again")
		k.Stop(l)
		k.sleepTo(2 * time.Hour)
	})
}

// Bug 12: the answer is listened to, and renewal ends with it.
func TestGoneIsLostAtOnce(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(fail(fmt.Errorf("lock %q: %w", "a", ErrGone)))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod)
		losses := k.seenLosses()
		require.Len(t, losses, 1)
		assert.Equal(t, testPeriod, losses[0].at)
		assert.ErrorIs(t, losses[0].cause, ErrGone)
		assert.ErrorIs(t, k.seenOutcomes()[0], ErrGone)
		assert.False(t, k.Stop(l))
		k.sleepTo(time.Hour)
		assert.Len(t, k.seenCalls(), 1)
		assert.Len(t, k.seenLosses(), 1)
		assert.Zero(t, k.wheel.Len())
	})
}

func TestSuspendedMachineLosesItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, clock := newSuspendableClock()
		k := newKennel(clock, nil)
		defer k.wheel.Close()
		defer k.Close()
		l := &Lease{}
		k.Renew(l, 0, testLease)
		time.Sleep(testPeriod / 2)
		system.suspend(testLease)
		assert.Less(t, l.ValidUntil(), clock.Now(), "ValidUntil tells at once")
		time.Sleep(maxNap)
		synctest.Wait()
		assert.Len(t, k.seenLosses(), 1)
		assert.Empty(t, k.seenCalls(), "over is over: it is not renewed")
	})
}
