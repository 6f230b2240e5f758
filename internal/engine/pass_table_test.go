package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
)

// R1, interleaving 16: a hold passes in one step. Whoever leaves before is passed by, and whoever leaves after has it.
func TestAHoldPassesInOneStep(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2", "w3", "w4")
	f.holds["w1"].spare = 2
	_, left := f.table.leave(f.waiters["w2"])
	require.Zero(t, left)
	second, runOver := f.table.pass(f.holds["w1"])
	require.False(t, runOver)
	at, h := f.table.look(f.waiters["w3"])
	require.Equal(t, localqueue.Granted, at)
	require.Same(t, second, h)
	require.Equal(t, f.holds["w1"].fence+1, second.fence)
	require.Equal(t, []*Hold{second}, f.table.all(), "there is one at a time")
	h, left = f.table.leave(f.waiters["w3"])
	require.Same(t, second, h, "it passes it on")
	require.Equal(t, localqueue.Remains{Hold: true}, left)
	third, _ := f.table.pass(second)
	require.NotNil(t, third)
	_, h = f.table.look(f.waiters["w4"])
	require.Same(t, third, h)
	f.table.drop(third)
	f.empty()
}

// R3: where memory is not enough the hold stays what it is, to be released, and others have their turn if somebody of
// this process waits; a waiter that could not have it is as it was.
func TestWhereMemoryIsNotEnough(t *testing.T) {
	for name, spoil := range map[string]func(f *floor, h *Hold){
		"no token is left": func(_ *floor, h *Hold) { h.spare = 0 },
		"the hold is limited": func(_ *floor, h *Hold) {
			h.Attach(context.Background(), hold.Want{Lease: floorLease, Kept: true, MaxHold: floorLease}, nil)
		},
		"the next has a lease of its own": func(f *floor, _ *Hold) { f.waiters["w2"].req.Kept = false },
		"the next wants another lease":    func(f *floor, _ *Hold) { f.waiters["w2"].req.Lease++ },
		"half of the lease is over": func(f *floor, h *Hold) {
			f.engine.watchdog.Guard(&h.Lease, f.engine.clock.Now()+floorLease/2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.win("w1")
			f.come("w2")
			spoil(f, f.holds["w1"])
			next, runOver := f.table.pass(f.holds["w1"])
			require.Nil(t, next)
			require.True(t, runOver)
			f.asking()
			f.drop("w1")
			f.asking("w2")
			_, left := f.table.leave(f.waiters["w2"])
			require.Zero(t, left, "nothing was sent for it")
			f.empty()
		})
	}
}

// Only a hold that is listed passes, and only one of which nobody said that it was released.
func TestAHoldThatMayBeGoneDoesNotPass(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2")
	next, runOver := f.table.pass(f.hold("w other"))
	require.Nil(t, next)
	require.False(t, runOver)
	f.holds["w1"].suspect = true
	next, runOver = f.table.pass(f.holds["w1"])
	require.Nil(t, next)
	require.False(t, runOver)
	f.holds["w1"].suspect = false
	next, _ = f.table.pass(f.holds["w1"])
	require.NotNil(t, next)
}
