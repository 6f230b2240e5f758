package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
)

// R1, interleaving 16: a grant passes in one step. A waiter that leaves before is passed by, and one that leaves after has
// it.
func TestAGrantPassesInOneStep(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2", "w3", "w4")
	g := f.holds["w1"]
	g.spare = 2
	fence := g.fence
	_, left := f.waiters["w2"].leave()
	require.Zero(t, left)
	second, runOver := f.pass("w1")
	require.False(t, runOver)
	at, h := f.waiters["w3"].look()
	require.Equal(t, localqueue.Granted, at)
	require.Same(t, second, h)
	require.Equal(t, fence+1, second.Fence)
	require.Same(t, second, g.Current(), "there is one at a time")
	h, left = f.waiters["w3"].leave()
	require.Same(t, second, h, "it passes it on")
	require.Equal(t, localqueue.Remains{Hold: true}, left)
	third, _ := f.pass("w1")
	require.NotNil(t, third)
	_, h = f.waiters["w4"].look()
	require.Same(t, third, h)
	require.Equal(t, []*Grant{g}, f.table.all())
	f.drop("w1")
	f.empty()
}

// A grant that was lost after its last Hold ended is not passed on, and one that a caller has is not either.
func TestOnlyAGrantBetweenTwoHoldsPasses(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2")
	next, _ := f.tryPass("w1")
	require.Nil(t, next, "somebody has it")
	require.True(t, f.holds["w1"].Claim())
	require.False(t, f.holds["w1"].Claim(), "one caller ends it")
	_, ended := f.holds["w1"].End(hold.Closed, nil)
	require.False(t, ended, "Close leaves it to that one")
	_, ended = f.holds["w1"].End(hold.Lost, nil)
	require.True(t, ended)
	next, _ = f.tryPass("w1")
	require.Nil(t, next)
	_, ended = f.holds["w1"].End(hold.Released, nil)
	require.False(t, ended, "what found the loss has cleaned up")
	f.drop("w1")
	f.asking("w2")
	f.waiters["w2"].leave()
	f.empty()
}

// R3: where memory is not enough the hold stays what it is, to be released, and others have their turn if somebody of
// this process waits; a waiter that could not have it is as it was.
func TestWhereMemoryIsNotEnough(t *testing.T) {
	for name, spoil := range map[string]func(f *floor, g *Grant){
		"no token is left": func(_ *floor, g *Grant) { g.spare = 0 },
		"the hold is limited": func(_ *floor, g *Grant) {
			l, _ := g.Current().Attach(context.Background(), &hold.Want{Limits: hold.Limits{MaxHold: floorLease}}, nil)
			g.Withdraw(l)
		},
		"the next has a lease of its own": func(f *floor, _ *Grant) { f.waiters["w2"].req.Renewed = false },
		"the next wants another lease":    func(f *floor, _ *Grant) { f.waiters["w2"].req.Lease++ },
		"half of the lease is over": func(f *floor, g *Grant) {
			f.engine.watchdog.Guard(&g.Lease, f.engine.clock.Now()+floorLease/2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.win("w1")
			f.come("w2")
			spoil(f, f.holds["w1"])
			next, runOver := f.pass("w1")
			require.Nil(t, next)
			require.True(t, runOver)
			f.asking()
			f.drop("w1")
			f.asking("w2")
			_, left := f.waiters["w2"].leave()
			require.Zero(t, left, "nothing was sent for it")
			f.empty()
		})
	}
}

// Only a grant that is listed passes, and only one of which nobody said that it was released.
func TestAGrantThatMayBeGoneDoesNotPass(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2")
	f.hold("w other")
	next, runOver := f.pass("w other")
	require.Nil(t, next)
	require.False(t, runOver)
	f.holds["w1"].suspect = true
	next, runOver = f.pass("w1")
	require.Nil(t, next)
	require.False(t, runOver)
	f.holds["w1"].suspect = false
	next, _ = f.tryPass("w1")
	require.NotNil(t, next)
}
