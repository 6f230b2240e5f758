package localqueue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Interleaving 16: the states of the waiter that a hold passes to.
func TestPass(t *testing.T) {
	for name, settle := range map[string]func(f *floor){
		"it has the hold": func(f *floor) {
			f.pass("w1", "w2")
			f.state("w2", Granted)
			f.asking()
			f.drop("w2", 0)
			f.asking("w3")
		},
		"memory is not enough": func(f *floor) {
			f.state("w2", Waiting)
			f.drop("w1", 0)
			f.asking("w2")
			require.Equal(f.t, "id-w2", f.waiters["w2"].ID)
		},
		"it leaves before": func(f *floor) {
			require.Zero(f.t, f.leave("w2"))
			f.asking()
			f.pass("w1", "w3")
			f.drop("w3", 0)
		},
		"it leaves after": func(f *floor) {
			f.pass("w1", "w2")
			require.Equal(f.t, Remains{Hold: true}, f.leave("w2"), "a waiter that leaves passes it on")
			f.pass("w2", "w3")
			f.drop("w3", 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.come("w2", "w3")
			f.win("w1")
			w, runOver := f.next("w1")
			require.False(t, runOver)
			require.Same(t, f.waiters["w2"], w)
			f.state("w2", Waiting)
			f.asking() // nothing is decided yet
			settle(f)
			for name := range f.holds {
				f.drop(name, 0)
			}
			for name := range f.waiters {
				f.leave(name)
			}
			f.empty()
		})
	}
}

// A hold passes only to one that can have it as it is, with nobody else in the way.
func TestAHoldPassesToTheFirstInTheQueueAlone(t *testing.T) {
	f := newFloor(t)
	f.come("r1", "r2")
	f.win("r1")
	f.win("r2")
	f.come("w1")
	w, _ := f.next("r1")
	require.Nil(t, w, "the other reader stays, and a reader's hold makes no writer's")
	f.drop("r1", 0)
	f.drop("r2", 0)
	f.win("w1")
	f.come("r3", "w2")
	w, _ = f.next("w1")
	require.Nil(t, w, "the writer behind the reader does not overtake it")
	f.drop("w1", 0)
	f.asking("r3")
}

// A read inside a write is a second hold: the writer's does not pass while it lives.
func TestNothingPassesWhileAnotherHoldIsInTheWay(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.enter("r inside", &Waiter{Caller: Caller{Manner: Inside}})
	f.win("r inside")
	f.come("w2")
	w, runOver := f.next("w1")
	require.Nil(t, w)
	require.False(t, runOver)
	f.drop("r inside", 0)
	w, _ = f.next("w1")
	require.Same(t, f.waiters["w2"], w)
}

// A waiter that wants other keys as well takes no hold of one, and nobody behind it is served first.
func TestASetInheritsNothing(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.enter("w set", &Waiter{Caller: Caller{Manner: Set}})
	f.come("w2")
	w, runOver := f.next("w1")
	require.Nil(t, w)
	require.False(t, runOver)
	require.Nil(t, f.queue.Heir("w"))
	f.drop("w1", 0)
	f.asking("w set")
}
