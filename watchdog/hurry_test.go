package watchdog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A lease that is hurried is renewed now, and then as ever; one that is only guarded, or over, is not.
func TestHurry(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		renewed, guarded, stopped := &Lease{}, &Lease{}, &Lease{}
		k.Renew(renewed, 0, testLease)
		k.Guard(guarded, time.Hour)
		k.Renew(stopped, 0, testLease)
		assert.True(t, k.Stop(stopped))
		k.sleepTo(testPeriod / 8)
		for _, l := range []*Lease{renewed, guarded, stopped, {}} {
			k.Hurry(l)
		}
		k.sleepTo(testPeriod/8 + time.Second)
		calls := k.seenCalls()
		assert.Len(t, calls, 1)
		assert.Equal(t, []*Lease{renewed}, calls[0].due)
		k.sleepTo(testPeriod/8 + testPeriod + time.Second)
		assert.Len(t, k.seenCalls(), 2)
		k.Stop(renewed)
		k.Stop(guarded)
	})
}
