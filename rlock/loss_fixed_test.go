package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// G2 without the watchdog: the context of a hold that nobody renews ends before the lease does, with
// Redis well and reachable, and also where an inner level was entered and left. 100 of 100.
func TestFixedLeaseEndsBeforeRedisEndsIt(t *testing.T) {
	const lease = 5 * time.Second
	for name, levels := range map[string]int{"one level": 1, "after an inner level": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossLab(t, lossClients, lossLease)
			holds, err := l.take(lossRuns, rlock.FixedLease(lease))
			require.NoError(t, err)
			for _, h := range holds {
				if levels == 2 {
					_, unlock, err := h.lock.Lock(h.ctx)
					require.NoError(t, err)
					require.NoError(t, unlock())
				}
			}
			require.NoError(t, l.look(holds))
			for _, h := range holds {
				held, err := h.lock.Held(h.ctx)
				require.NoError(t, err)
				assert.True(t, held.ValidUntil.Before(h.expiry), "%v, Redis: %v", held.ValidUntil, h.expiry)
			}
			assert.NoError(t, lossAwait(holds, func(h *lossHold) error {
				if !h.ended.Before(h.expiry) {
					return fmt.Errorf("%s: it ended %v late", h.name, h.ended.Sub(h.expiry))
				}
				return errors.Join(
					lossCheck(h.name, context.Cause(h.ctx), rlock.LossExpired),
					lossCheck(h.name, h.unlock(), rlock.LossExpired))
			}))
		})
	}
}
