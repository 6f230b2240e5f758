package redisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Break takes the lock from a Java thread, which learns of it when it unlocks, and wakes the next waiter.
func TestBreakEndsJavasHold(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	operator := newGo(t, server.Client(t), rlock.ClientOptions{}, server)
	a, b := j.thread("a"), j.thread("b")

	a.do("lock", "broken")
	entering := g.waiting("broken")
	require.NoError(t, operator.lock("broken").Break(t.Context()))
	o := g.arrives(entering)
	require.Contains(t, a.refused("unlock", "broken"), "IllegalMonitorStateException")
	require.NoError(t, o.ctx.Err())
	require.NoError(t, o.unlock())

	a.do("lock", "broken")
	waiting := b.waiting("lock", "broken")
	require.NoError(t, operator.lock("broken").Break(t.Context()))
	javaArrives(t, waiting)
	require.Contains(t, a.refused("unlock", "broken"), "IllegalMonitorStateException")
	require.Equal(t, "1", b.do("count", "broken"))
	b.do("unlock", "broken")
	require.ErrorIs(t, operator.lock("broken").Break(t.Context()), rlock.ErrNotHeld)
}

// Redisson's forceUnlock wakes our waiters, by its message alone; the holder learns of it at unlock at the latest,
// and harms nobody.
func TestForceUnlockWakesOurWaiters(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	other := newGo(t, server.Client(t), rlock.ClientOptions{}, server)
	first := other.hold("forced")
	entering := g.waiting("forced")
	require.Equal(t, "true", j.thread("operator").do("forceunlock", "forced"))
	o := g.arrives(entering)
	require.ErrorIs(t, first.unlock(), rlock.ErrLost)
	require.NoError(t, o.ctx.Err())
	g.busy("forced")
	require.NoError(t, o.unlock())
	require.Equal(t, "false", j.thread("operator").do("forceunlock", "forced"))
}

// An idle holder of ours learns with its next renewal that Java forced its lock open.
func TestForceUnlockEndsOurHold(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{Lease: short})
	for range 3 {
		o := g.hold("gone")
		hold, err := g.lock("gone").Held(o.ctx)
		require.NoError(t, err)
		start := time.Now()
		require.Equal(t, "true", j.thread("operator").do("forceunlock", "gone"))
		redistest.Receive(t, limit, o.ctx.Done(), "the context does not end")
		var lost *rlock.LostError
		require.ErrorAs(t, context.Cause(o.ctx), &lost)
		// Gone is what a renewal was told; had none been sent, validity would have ended: Expired.
		require.Equal(t, rlock.LossGone, lost.Reason)
		t.Logf("known after %v, %v before validity would have ended", time.Since(start), time.Until(hold.ValidUntil))
		require.ErrorIs(t, o.unlock(), rlock.ErrLost)
	}
}
