package watchdog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuardIsNotRenewed(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		const end = 17*time.Second + 3
		l := &Lease{}
		k.Guard(l, end)
		assert.Equal(t, end, l.ValidUntil())
		k.sleepTo(time.Hour)
		assert.Empty(t, k.seenCalls())
		losses := k.seenLosses()
		require.Len(t, losses, 1)
		requireInTime(t, losses[0], end)
		assert.NoError(t, losses[0].cause)
	})
}

func TestGuardSetsValidityBothWays(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{}
		k.Guard(l, 10*time.Second)
		k.Guard(l, time.Minute)
		k.sleepTo(20 * time.Second)
		assert.Empty(t, k.seenLosses())
		k.Guard(l, 30*time.Second)
		k.sleepTo(time.Hour)
		require.Len(t, k.seenLosses(), 1)
		requireInTime(t, k.seenLosses()[0], 30*time.Second)
	})
}

func TestGuardIsForGood(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(2 * testPeriod)
		require.Len(t, k.seenCalls(), 2)
		k.Guard(l, 5*time.Minute)
		k.Renew(l, k.clock.Now(), time.Hour)
		assert.Equal(t, 5*time.Minute, l.ValidUntil(), "a guarded lease is not renewed again")
		k.sleepTo(time.Hour)
		require.Len(t, k.seenCalls(), 2)
		require.Len(t, k.seenLosses(), 1)
		requireInTime(t, k.seenLosses()[0], 5*time.Minute)
	})
}

func TestStopBeforeKeep(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{}
		assert.False(t, k.Stop(l))
		k.Renew(l, 0, testLease)
		k.Guard(l, testLease)
		assert.Zero(t, l.ValidUntil())
		assert.Zero(t, k.Len())
		k.sleepTo(time.Hour)
		assert.Empty(t, k.seenCalls())
		assert.Empty(t, k.seenLosses())
	})
}

func TestLose(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{}
		assert.False(t, k.Lose(&Lease{}), "never handed over")
		k.Renew(l, 0, testLease)
		assert.True(t, k.Lose(l))
		assert.False(t, k.Lose(l))
		assert.False(t, k.Stop(l))
		assert.Zero(t, k.Len())
		k.sleepTo(time.Hour)
		assert.Empty(t, k.seenLosses(), "without calling Lost")
		assert.Empty(t, k.seenCalls())
	})
}

// Of Stop, Lose and the end of validity at one instant exactly one wins.
func TestOneEndOnly(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		const n = 500
		leases := make([]Lease, n)
		for i := range leases {
			k.Guard(&leases[i], time.Second)
		}
		wins := make(chan int, 2)
		for _, end := range []func(l *Lease) bool{
			k.Stop,
			func(l *Lease) bool { return k.Lose(l) },
		} {
			go func() {
				time.Sleep(time.Second)
				won := 0
				for i := range leases {
					if end(&leases[i]) {
						won++
					}
				}
				wins <- won
			}()
		}
		k.sleepTo(2 * time.Second)
		assert.Equal(t, n, <-wins+<-wins+len(k.seenLosses()))
		assert.Zero(t, k.Len())
	})
}
