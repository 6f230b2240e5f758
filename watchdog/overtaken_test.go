package watchdog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call is under way when somebody takes validity down: its answer is older
// than that and must not bring validity back up, but renewals go on.
func TestOvertakenAnswerRaisesNothing(t *testing.T) {
	for name, overtake := range map[string]func(k *kennel, l *Lease){
		"Shorten":           func(k *kennel, l *Lease) { k.Shorten(l, 20*time.Second) },
		"Shorten, no lower": func(k *kennel, l *Lease) { k.Shorten(l, 20*time.Second); k.Shorten(l, time.Hour) },
		"Guard, then Keep":  func(k *kennel, l *Lease) { k.Guard(l, 20*time.Second); k.Keep(l, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			inKennel(t, nil, func(t *testing.T, k *kennel) {
				k.set(after(2*time.Second, renewAll))
				l := &Lease{}
				k.Keep(l, 0, testLease)
				k.sleepTo(testPeriod + time.Second)
				overtake(k, l)
				k.sleepTo(testPeriod + 3*time.Second)
				assert.Equal(t, 20*time.Second, l.ValidUntil())
				assert.Empty(t, k.seenOutcomes())
				calls := k.seenCalls()
				require.Len(t, calls, 2, "a call that started later")
				assert.Equal(t, testPeriod+2*time.Second, calls[1].at)
				k.sleepTo(testPeriod + 4*time.Second)
				assert.Equal(t, calls[1].at+testLease-testMargin, l.ValidUntil(), "counts again")
				k.sleepTo(time.Hour)
				assert.Empty(t, k.seenLosses())
				k.Stop(l)
				k.sleepTo(time.Hour + testLimit)
			})
		})
	}
}

func TestGuardDuringACall(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(2*time.Second, renewAll))
		l := &Lease{}
		k.Keep(l, 0, testLease)
		k.sleepTo(testPeriod + time.Second)
		k.Guard(l, 20*time.Second)
		k.sleepTo(time.Hour)
		assert.Len(t, k.seenCalls(), 1)
		require.Len(t, k.seenLosses(), 1)
		requireInTime(t, k.seenLosses()[0], 20*time.Second)
	})
}

func TestExtendDuringACall(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(after(2*time.Second, renewAll))
		l := &Lease{}
		k.Keep(l, 0, testLease)
		k.sleepTo(testPeriod + time.Second)
		k.Extend(l, time.Hour)
		k.sleepTo(testPeriod + 2*time.Second)
		assert.Equal(t, time.Hour, l.ValidUntil(), "the answer lowers nothing")
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
			k.Keep(l, start, testLease)
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
