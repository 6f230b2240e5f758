package faulttest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const processHeldLease = 2 * time.Second

// processHold starts a child that holds name.
func (p *faultyPath) processHold(name string) *processChild {
	p.t.Helper()
	child := processStart(p.t, "holder", map[string]string{
		processAddr: p.server.Addr(), processName: name, processLease: processHeldLease.String(),
	})
	require.Equal(p.t, "held", child.hear())
	return child
}

// fence is the token in an answer to "held", which must be of a live hold.
func (c *processChild) fence() int64 {
	c.t.Helper()
	c.say("held")
	fence, err, ok := strings.Cut(c.hear(), " ")
	require.True(c.t, ok)
	require.Equal(c.t, "<nil>", err)
	n, parseErr := strconv.ParseInt(fence, 10, 64)
	require.NoError(c.t, parseErr)
	return n
}

// Bug 15: a holder is killed: the next one gets in when the lease is over, not before, and, with no message and
// no poll to rely on, not much later.
func TestKilledHoldersLockIsFreeAfterItsLease(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	lock := rlock.New(p.straight(opts), "killed")
	child := p.processHold("killed")
	fence := child.fence()
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("killed")
	child.say("renewed") // so that the lease's end is not the one that the waiter was told first
	require.Equal(t, "renewed", child.hear())

	child.kill()
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
	fence := child.fence()
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("brief")
	for range 2 {
		child.freeze()
		time.Sleep(processHeldLease * 2 / 5) // the fault itself
		child.thaw()
		child.say("renewed")
		require.Equal(t, "renewed", child.hear())
		require.Equal(t, fence, child.fence())
	}
	require.Empty(t, waiting, "two hold the lock")
	child.say("losses")
	require.Equal(t, "0", child.hear())
	child.say("unlock")
	require.Equal(t, "<nil>", child.hear())
	faultEnters(t, waiting, faultSoon)
}

// G2: a holder is stopped for longer than its lease. When it runs again Held knows at once, before any timer of its
// process need have run; unlock returns the loss; and the new holder is not touched.
func TestHolderStoppedForLongKnowsOfItsLoss(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	lock := rlock.New(p.straight(rlock.ClientOptions{MaxPoll: faultNever}), "long")
	child := p.processHold("long")
	fence := child.fence()
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("long")

	child.freeze()
	g := faultAwait(t, waiting, processHeldLease+wakeupSlack)
	require.NoError(t, g.err)
	hold, err := lock.Held(g.held)
	require.NoError(t, err)
	require.Greater(t, hold.Fence, fence)
	// These lie in the pipe when the child wakes: they are the first that it does.
	child.say("held")
	child.say("unlock")
	child.say("context")
	child.thaw()
	require.Equal(t, "0 lost", child.hear())
	require.Equal(t, "lost", child.hear())
	require.Equal(t, "lost", child.hear())
	redistest.Eventually(t, faultSoon, func() bool {
		child.say("losses")
		return child.hear() == "1"
	}, "the observer was not told of one loss")

	_, err = lock.Held(g.held)
	require.NoError(t, err)
	fields, err := p.direct.HGetAll(t.Context(), "long").Result()
	require.NoError(t, err)
	require.Equal(t, map[string]string{hold.ID: "1"}, fields)
	require.NoError(t, g.unlock())
}
