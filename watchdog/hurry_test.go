package watchdog

import (
	"context"
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

// slowly has renewals take a second.
func (k *kennel) slowly() {
	k.set(func(ctx context.Context, shard string, due []*Lease, results []Result) {
		time.Sleep(time.Second)
		renewAll(ctx, shard, due, results)
	})
}

// A lease that is hurried while it is being renewed is renewed once more: what it is hurried for may have happened after
// the answer. It is renewed as ever after that.
func TestHurryDuringARenewal(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{}
		k.slowly()
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod / 8)
		k.Hurry(l)
		k.sleepTo(testPeriod/8 + time.Second/2)
		assert.Len(t, k.seenCalls(), 1)
		k.Hurry(l)
		k.Hurry(l)
		k.sleepTo(testPeriod/8 + 4*time.Second)
		assert.Len(t, k.seenCalls(), 2)
		k.sleepTo(testPeriod/8 + testPeriod + 4*time.Second)
		assert.Len(t, k.seenCalls(), 3)
		k.Stop(l)
	})
}

// A lease that is refreshed is renewed at once, and not once more while that is under way.
func TestRefresh(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		l := &Lease{}
		k.slowly()
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod / 8)
		k.Refresh(l)
		k.sleepTo(testPeriod/8 + time.Second/2)
		assert.Len(t, k.seenCalls(), 1)
		k.Refresh(l)
		k.sleepTo(testPeriod/8 + 4*time.Second)
		assert.Len(t, k.seenCalls(), 1)
		k.Stop(l)
	})
}
