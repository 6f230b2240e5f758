package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// lossEnds waits for the end of a context and checks that it is this loss.
func lossEnds(t *testing.T, ctx context.Context, name string, reason rlock.LossReason) {
	t.Helper()
	redistest.Receive(t, lossPatience, ctx.Done(), "the context did not end")
	require.NoError(t, lossCheck(name, context.Cause(ctx), reason))
}

// lossKinds are the two ends that a hold can come to without its owner. Each gives the reason, takes
// the hold away, and makes Redis be as before.
var lossKinds = []struct {
	name   string
	reason rlock.LossReason
	strike func(t *testing.T, l *lossLab, name string)
	heal   func(l *lossLab)
}{
	{"gone", rlock.LossGone, func(t *testing.T, l *lossLab, name string) {
		require.NoError(t, l.direct.Del(t.Context(), name).Err())
	}, func(*lossLab) {}},
	{"expired", rlock.LossExpired, func(_ *testing.T, l *lossLab, _ string) {
		l.proxy.Blackhole(true)
	}, func(l *lossLab) { l.proxy.Blackhole(false) }},
}

// After a loss every question about the hold is answered with it, until unlock; a hold that another
// has by then is not disturbed by the late unlock (bug 6), and the same client can take the
// same name again and keeps it as if nothing had been (bugs 9 and 12).
func TestAfterALoss(t *testing.T) {
	t.Parallel()
	for _, kind := range lossKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			l := newLossLab(t, 1, lossShort)
			rival := rlock.New(l.rival(t, lossShort), "job")
			lock := rlock.New(l.clients[0], "job")
			ctx, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			first, err := lock.Held(ctx)
			require.NoError(t, err)

			kind.strike(t, l, "job")
			lossEnds(t, ctx, "job", kind.reason)
			second, release, err := rival.Lock(t.Context()) // after the first one treated its hold as live
			require.NoError(t, err)
			held, err := rival.Held(second)
			require.NoError(t, err)
			assert.Greater(t, held.Fence, first.Fence)
			kind.heal(l)

			checkLost(t, lock, ctx, kind.reason)
			require.NoError(t, lossCheck("job", unlock(), kind.reason))
			assert.ErrorIs(t, unlock(), rlock.ErrNotHeld)
			l.undisturbed(t, rival, second, held)
			assert.NoError(t, release())
			l.relock(t, lock, held.Fence)
		})
	}
}

// checkLost asks in every way for a hold that was lost and not unlocked yet.
func checkLost(t *testing.T, lock *rlock.Lock, ctx context.Context, reason rlock.LossReason) {
	t.Helper()
	detached := context.WithoutCancel(ctx) // not done, and still carries the lost hold
	for _, ctx := range []context.Context{ctx, detached} {
		_, err := lock.Held(ctx)
		assert.NoError(t, lossCheck("job", err, reason))
		again, unlock, err := lock.Lock(ctx)
		assert.NoError(t, lossCheck("job", err, reason))
		assert.Equal(t, ctx, again)
		assert.ErrorIs(t, unlock(), rlock.ErrNotHeld)
		_, _, err = lock.TryLock(ctx)
		assert.NoError(t, lossCheck("job", err, reason))
		err = lock.Do(ctx, func(context.Context) error { panic("it is not held") })
		assert.NoError(t, lossCheck("job", err, reason))
	}
}

// undisturbed checks that a hold stands, alone, and is still renewed.
func (l *lossLab) undisturbed(
	t *testing.T, lock *rlock.Lock, ctx context.Context, held rlock.Hold,
) {
	t.Helper()
	before := l.events.count(&l.events.renewed, "job")
	redistest.Eventually(t, lossPatience, func() bool {
		return l.events.count(&l.events.renewed, "job") >= before+2
	}, "the second holder is renewed")
	assert.NoError(t, ctx.Err())
	now, err := lock.Held(ctx)
	require.NoError(t, err)
	assert.Equal(t, held.ID, now.ID)
	assert.Equal(t, map[string]string{held.ID: "1"}, l.direct.HGetAll(t.Context(), "job").Val())
}

// relock takes the name that was lost before again, and keeps it for longer than a lease.
func (l *lossLab) relock(t *testing.T, lock *rlock.Lock, above int64) {
	t.Helper()
	ctx, unlock, err := lock.Lock(t.Context())
	require.NoError(t, err)
	held, err := lock.Held(ctx)
	require.NoError(t, err)
	assert.Greater(t, held.Fence, above)
	before := l.events.count(&l.events.renewed, "job")
	redistest.Eventually(t, lossPatience, func() bool {
		return l.events.count(&l.events.renewed, "job") >= before+5
	}, "the new hold is renewed")
	assert.NoError(t, ctx.Err())
	assert.Equal(t, map[string]string{held.ID: "1"}, l.direct.HGetAll(t.Context(), "job").Val())
	assert.NoError(t, unlock())
	assert.Equal(t, 1, l.events.total(), "only the first hold was lost")
	assert.NotContains(t, l.server.Keys(t), "job")
}

// A lost hold that was unlocked is out of its context: a context derived from that queues again, and
// does not return an old loss. (defect F29: in virtual time, a lease that runs out leaves every command its time.)
func TestContextOfALossThatWasUnlocked(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "job", rlock.FixedLease(200*time.Millisecond))
		ctx, unlock, err := lock.Lock(t.Context())
		require.NoError(t, err)
		lossEnds(t, ctx, "job", rlock.LossExpired)
		require.NoError(t, lossCheck("job", unlock(), rlock.LossExpired))

		_, err = lock.Held(ctx)
		assert.ErrorIs(t, err, rlock.ErrNotHeld)
		again, unlock, err := lock.Lock(context.WithoutCancel(ctx))
		require.NoError(t, err)
		assert.NoError(t, again.Err())
		assert.NoError(t, unlock())
	})
}

// The loss of an outer level ends every inner one, and each unlock returns it once.
func TestLossOfANestedHold(t *testing.T) {
	t.Parallel()
	l := newLossLab(t, 1, lossShort)
	lock := rlock.New(l.clients[0], "job")
	outer, unlockOuter, err := lock.Lock(t.Context())
	require.NoError(t, err)
	inner, unlockInner, err := lock.Lock(outer)
	require.NoError(t, err)
	require.NoError(t, l.direct.Del(t.Context(), "job").Err())
	lossEnds(t, outer, "job", rlock.LossGone)
	lossEnds(t, inner, "job", rlock.LossGone)
	for _, unlock := range []func() error{unlockInner, unlockOuter} {
		assert.NoError(t, lossCheck("job", unlock(), rlock.LossGone))
		assert.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
	redistest.Eventually(t, lossPatience, func() bool { return l.events.total() > 0 }, "one loss is told")
	assert.Equal(t, 1, l.events.total())
}
