package rlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// G2 without the watchdog: the context of a hold that nobody renews ends before the lease does, with
// Redis well and reachable, and also where an inner level was entered and left. 100 of 100.
func TestFixedLeaseEndsBeforeRedisEndsIt(t *testing.T) {
	t.Parallel()
	const lease = 14 * time.Second // all are taken, and half of them entered once more, while it lasts
	l := newLossLab(t, lossClients, lossLease)
	holds, err := l.take(2*lossRuns, rlock.FixedLease(lease))
	require.NoError(t, err)
	for _, h := range holds[lossRuns:] {
		_, unlock, err := h.lock.Lock(h.ctx)
		require.NoError(t, err)
		require.NoError(t, unlock())
	}
	require.NoError(t, l.look(holds))
	require.NoError(t, lossValid(holds))
	pulse := newLossPulse(t)
	assert.NoError(t, lossAwait(holds, func(h *lossHold) error {
		return errors.Join(
			lossCheck(h.name, context.Cause(h.ctx), rlock.LossExpired),
			lossCheck(h.name, h.unlock(), rlock.LossExpired))
	}))
	for _, h := range holds {
		assert.NoError(t, pulse.inTime(h))
	}
}
