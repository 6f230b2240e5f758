package watchdog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call is under way when somebody takes validity down: its answer is older
// than that and must not bring validity back up.
func TestGuardDuringACall(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(2*time.Second, renewAll))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod + time.Second)
		k.Guard(l, 20*time.Second)
		k.sleepTo(testPeriod + 3*time.Second)
		assert.Equal(t, 20*time.Second, l.ValidUntil())
		k.sleepTo(time.Hour)
		assert.Empty(t, k.seenOutcomes())
		assert.Len(t, k.seenCalls(), 1)
		require.Len(t, k.seenLosses(), 1)
		requireInTime(t, k.seenLosses()[0], 20*time.Second)
	})
}

func TestKeepDuringACall(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(2*time.Second, renewAll))
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod + time.Second)
		k.Renew(l, 0, time.Hour)
		k.sleepTo(testPeriod + 2*time.Second)
		assert.Equal(t, time.Hour-Margin(time.Hour, testTick), l.ValidUntil(), "the answer lowers nothing")
		k.Stop(l)
	})
}

func TestStopDuringACall(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		for _, answer := range []func(){
			func() { k.set(after(2*time.Second, renewAll)) },
			func() { k.set(after(2*time.Second, fail(errDown))) },
			func() { k.set(after(2*time.Second, fail(ErrGone))) },
		} {
			answer()
			l := &Lease{}
			start, calls := k.clock.Now(), len(k.seenCalls())
			k.Renew(l, start, testLease)
			k.sleepTo(start + testPeriod + time.Second)
			require.Len(t, k.seenCalls(), calls+1)
			assert.True(t, k.Stop(l))
			assert.False(t, k.Stop(l))
			k.sleepTo(start + time.Hour)
			assert.Len(t, k.seenCalls(), calls+1)
		}
		assert.Empty(t, k.seenLosses())
		assert.Empty(t, k.seenOutcomes())
		assert.Zero(t, k.wheel.Len())
	})
}

// A timer may fire on what has changed since: between the wheel's taking it out
// and the call lies a moment in which everything can happen.
func TestStaleTimer(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		over := &Lease{}
		k.Guard(over, time.Second)
		require.True(t, k.Stop(over))
		k.sleepTo(time.Minute)
		k.checkLease(over)
		assert.Empty(t, k.seenLosses(), "not after Stop")

		prolonged := &Lease{}
		k.Guard(prolonged, time.Hour)
		k.checkLease(prolonged)
		assert.Empty(t, k.seenLosses())
		assert.Equal(t, 1, k.wheel.Len(), "armed again")
		k.Stop(prolonged)
	})
}
