package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/rlock"
)

// leaseCopies are the ways to a second copy of a request that arrives late.
var leaseCopies = map[string]func(*faultproxy.Gate) faultproxy.Action{
	"a duplicate that comes late":                  faultproxy.DuplicateLater,
	"the first attempt comes late, after a resend": faultproxy.Late,
}

// Interleaving 13: a late copy of a step may leave the count wrong for a moment, and nothing depends on it. The next
// step sets it right, and the hold ends whole.
func TestALateStepIsSetRight(t *testing.T) {
	t.Parallel()
	for name, copied := range leaseCopies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			client := lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
			lock := rlock.New(client, key)
			outer := timeLock(t, t.Context(), lock)
			id := timeHeld(t, outer.ctx, lock).ID
			gate := faultproxy.NewGate()
			rule := lab.on("levels", copied(gate))
			inner := timeLock(t, outer.ctx, lock)
			rule.Wait(t, 1)
			timeCounts(t, lab.direct, key, id, 2)
			require.NoError(t, inner.unlock())
			timeCounts(t, lab.direct, key, id, 1)

			gate.Open()
			timeReceive(t, gate.Delivered(), "the late step")
			require.Equal(t, 1, timeHeld(t, outer.ctx, lock).Count)
			again := timeLock(t, outer.ctx, lock)
			innermost := timeLock(t, again.ctx, lock)
			timeCounts(t, lab.direct, key, id, 3)
			require.NoError(t, innermost.unlock())
			require.NoError(t, again.unlock())
			timeCounts(t, lab.direct, key, id, 1)
			timeBetween(t, 0, timeTTL(t, lab.direct, key), 3*time.Second)
			require.NoError(t, outer.unlock())
			timeGone(t, lab.direct, key)
		})
	}
}

// Redisson's bug number one (need 1, bug 1, redisson#7367): the reply of a re-entry is lost, the request is
// sent again, and one unlock too few is left.
func TestResentStepsCountOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Action{
		"reply lost": faultproxy.DropReply, "request lost": faultproxy.DropRequest,
		"cut after": faultproxy.CutAfter, "cut before": faultproxy.CutBefore,
		"sent twice": faultproxy.Duplicate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			client := lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
			lock := rlock.New(client, key)
			outer := timeLock(t, t.Context(), lock)
			id := timeHeld(t, outer.ctx, lock).ID
			rule := lab.on("levels", fault)
			inner := timeLock(t, outer.ctx, lock)
			timeCounts(t, lab.direct, key, id, 2)
			require.Equal(t, 2, timeHeld(t, inner.ctx, lock).Count)
			require.NoError(t, inner.unlock())
			rule.Wait(t, 1)
			timeCounts(t, lab.direct, key, id, 1)
			require.NoError(t, outer.unlock())
			timeGone(t, lab.direct, key)
		})
	}
}
