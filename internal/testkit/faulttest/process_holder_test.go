package faulttest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
)

const processHeldLease = 2 * time.Second

// processHold starts a process that holds name.
func (p *faultyPath) processHold(name string) *role.Process {
	p.t.Helper()
	child := processHolder.Start(p.t, processOrders{Addr: p.server.Addr(), Name: name, Lease: processHeldLease})
	child.Hears("held")
	return child
}

// processFence is the token of a process's hold, which must be live.
func processFence(t *testing.T, child *role.Process) (fence int64) {
	t.Helper()
	_, err := fmt.Sscanf(child.Ask("held"), "%d <nil>", &fence)
	require.NoError(t, err)
	return fence
}

// Bug 15: a holder is killed: the next one gets in when the lease is over, not before, and, with no message and
// no poll to rely on, not much later.
func TestKilledHoldersLockIsFreeAfterItsLease(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	lock := rlock.New(p.straight(opts), "killed")
	child := p.processHold("killed")
	fence := processFence(t, child)
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("killed")
	// So that the lease's end is not the one that the waiter was told first.
	require.Equal(t, "renewed", child.Ask("renewed"))

	child.Kill()
	start := time.Now()
	left, err := p.direct.PTTL(t.Context(), "killed").Result()
	require.NoError(t, err)
	require.Positive(t, left)
	g := faultAwait(t, waiting, processHeldLease+wakeupSlack)
	took := time.Since(start)
	require.NoError(t, g.err)
	require.GreaterOrEqual(t, took, left-time.Millisecond, "in before the lease was over")
	hold, err := lock.Held(g.held)
	require.NoError(t, err)
	require.Greater(t, hold.Fence, fence)
	require.NoError(t, g.unlock())
	t.Logf("lease left %v, in after %v", left, took)
}

// A holder is stopped for less than half its lease: it keeps the lock, and hears of no loss.
func TestHolderStoppedBrieflyKeepsTheLock(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: 50 * time.Millisecond}
	lock := rlock.New(p.straight(opts), "brief")
	child := p.processHold("brief")
	fence := processFence(t, child)
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("brief")
	for range 2 {
		child.Freeze()
		time.Sleep(processHeldLease * 2 / 5) // the fault itself
		child.Thaw()
		require.Equal(t, "renewed", child.Ask("renewed"))
		require.Equal(t, fence, processFence(t, child))
	}
	require.Empty(t, waiting, "two hold the lock")
	require.Equal(t, "0", child.Ask("losses"))
	require.Equal(t, "<nil>", child.Ask("unlock"))
	faultEnters(t, waiting, faultSoon)
}

// G2: a holder is stopped for longer than its lease. When it runs again Held knows at once, before any timer of its
// process need have run; unlock returns the loss; and the new holder is not touched.
func TestHolderStoppedForLongKnowsOfItsLoss(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	lock := rlock.New(p.straight(rlock.ClientOptions{MaxPoll: faultNever}), "long")
	child := p.processHold("long")
	fence := processFence(t, child)
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("long")

	child.Freeze()
	g := faultAwait(t, waiting, processHeldLease+wakeupSlack)
	require.NoError(t, g.err)
	hold, err := lock.Held(g.held)
	require.NoError(t, err)
	require.Greater(t, hold.Fence, fence)
	// These lie in the pipe when the child wakes: they are the first that it does.
	child.Say("held")
	child.Say("unlock")
	child.Say("context")
	child.Thaw()
	require.Equal(t, "0 lost", child.Hear())
	require.Equal(t, "lost", child.Hear())
	require.Equal(t, "lost", child.Hear())
	redistest.Eventually(t, faultSoon, func() bool {
		return child.Ask("losses") == "1"
	}, "the observer was not told of one loss")

	_, err = lock.Held(g.held)
	require.NoError(t, err)
	fields, err := p.direct.HGetAll(t.Context(), "long").Result()
	require.NoError(t, err)
	require.Equal(t, map[string]string{hold.ID: "1"}, fields)
	require.NoError(t, g.unlock())
}
