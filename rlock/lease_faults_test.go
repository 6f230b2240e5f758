package rlock_test

import (
	"context"
	"strings"
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

// Interleaving 13: a late inner release neither counts down nor shortens what came after it.
func TestLateInnerReleaseChangesNothing(t *testing.T) {
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
			rule := lab.on("leave", copied(gate))
			inner := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(time.Minute)))
			require.NoError(t, inner.unlock())
			rule.Wait(t, 1)

			long := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(time.Hour)))
			gate.Open()
			timeReceive(t, gate.Delivered(), "the late inner release")
			timeCounts(t, lab.direct, key, id, 2)
			timeBetween(t, 59*time.Minute, timeTTL(t, lab.direct, key), time.Hour)

			require.NoError(t, long.unlock())
			require.NoError(t, outer.unlock())
			timeGone(t, lab.direct, key)
		})
	}
}

// Interleaving 13: a late re-entry counts no second time, and its lease does not come back.
func TestLateReentryChangesNothing(t *testing.T) {
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
			rule := lab.on("reenter", copied(gate))
			long := timeLock(t, outer.ctx, rlock.New(client, key, rlock.FixedLease(time.Hour)))
			rule.Wait(t, 1)
			require.NoError(t, long.unlock())

			gate.Open()
			timeReceive(t, gate.Delivered(), "the late re-entry")
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
	for script, opts := range map[string][]rlock.Option{
		"reenter": {rlock.FixedLease(time.Hour)}, "leave": {rlock.FixedLease(time.Hour)}, "count": nil,
	} {
		for name, fault := range map[string]faultproxy.Action{
			"reply lost": faultproxy.DropReply, "request lost": faultproxy.DropRequest,
			"cut after": faultproxy.CutAfter, "cut before": faultproxy.CutBefore,
			"sent twice": faultproxy.Duplicate,
		} {
			t.Run(script+", "+name, func(t *testing.T) {
				t.Parallel()
				lab, key := newTimeLab(t), "order"
				client := lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
				lock := rlock.New(client, key)
				outer := timeLock(t, t.Context(), lock)
				id := timeHeld(t, outer.ctx, lock).ID
				rule := lab.on(strings.Replace(script, "count", "reenter", 1), fault)
				inner := timeLock(t, outer.ctx, rlock.New(client, key, opts...))
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
}

// Interleaving 4: a re-entry whose outcome is unknown does not count, and costs the hold nothing: the
// right count is written afterwards.
func TestAmbiguousReentryLeavesTheHoldAlone(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	client := lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
	lock := rlock.New(client, key)
	outer := timeLock(t, t.Context(), lock)
	id := timeHeld(t, outer.ctx, lock).ID

	rule := lab.on("reenter", faultproxy.DropReply)
	ctx, cancel := context.WithCancel(outer.ctx)
	failed := make(chan error, 1)
	go func() {
		_, _, err := rlock.New(client, key, rlock.FixedLease(time.Second)).Lock(ctx)
		failed <- err
	}()
	rule.Wait(t, 1)
	cancel()
	require.ErrorIs(t, timeReceive(t, failed, "the re-entry's error"), context.Canceled)
	require.Equal(t, 1, timeHeld(t, outer.ctx, lock).Count)
	timeCounts(t, lab.direct, key, id, 1) // whatever became of it

	inner := timeLock(t, outer.ctx, lock)
	timeCounts(t, lab.direct, key, id, 2)
	require.NoError(t, inner.unlock())
	timeCounts(t, lab.direct, key, id, 1)
	require.NoError(t, outer.ctx.Err())
	require.NoError(t, outer.unlock())
	timeGone(t, lab.direct, key)
}

// G4: the last unlock comes while a re-entry is under way, which then does not come to be. Nobody else
// is left to release the hold.
func TestPendingReentryThatFailsAfterTheOuterUnlockLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	for name, detached := range map[string]bool{
		"its context ends with the outer one": false, "its context ends later": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			client := lab.client(t, rlock.ClientOptions{Lease: 30 * time.Second})
			lock := rlock.New(client, key)
			outer := timeLock(t, t.Context(), lock)
			ctx := outer.ctx
			if detached {
				ctx = context.WithoutCancel(ctx)
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			gate := faultproxy.NewGate()
			rule := lab.on("reenter", faultproxy.Late(gate))
			failed := make(chan error, 1)
			go func() {
				_, _, err := rlock.New(client, key, rlock.FixedLease(time.Minute)).Lock(ctx)
				failed <- err
			}()
			rule.Wait(t, 1)
			require.NoError(t, outer.unlock())
			if detached {
				require.Equal(t, int64(1), lab.direct.Exists(t.Context(), key).Val(),
					"the re-entry may still come to be")
				cancel()
			}
			require.ErrorIs(t, timeReceive(t, failed, "the re-entry's error"), context.Canceled)
			timeGoneSoon(t, lab.direct, key)
			gate.Open()
			timeReceive(t, gate.Delivered(), "the late re-entry")
			timeGone(t, lab.direct, key)
		})
	}
}
