package localqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A hold is kept for the first in the queue while that is being registered, or about to be, and for nobody else; and
// not for longer than a run takes, or a few round trips.
func TestAHoldIsKeptForOneThatIsBeingRegistered(t *testing.T) {
	registering := func(f *floor, w *Waiter) {
		require.True(f.t, f.queue.BeginRegistrar(w))
		f.queue.Entrants(f.queue.Unplaced(100), 7)
	}
	for name, c := range map[string]struct {
		before func(f *floor, w *Waiter)
		kept   bool
	}{
		"nobody registers it yet":     {func(*floor, *Waiter) {}, true},
		"it is being registered":      {registering, true},
		"it is to be registered next": {func(f *floor, w *Waiter) { f.queue.BeginRegistrar(w) }, true},
		"it could not be registered": {func(f *floor, w *Waiter) {
			registering(f, w)
			f.queue.Registered([]*Waiter{w}, nil, false)
			f.queue.EndRegistrar()
		}, false},
		"an earlier registration may come late": {func(f *floor, w *Waiter) {
			registering(f, w)
			f.queue.Registered([]*Waiter{w}, nil, true)
			f.queue.Entrants(f.queue.Unplaced(100), 8)
		}, false},
		"another stands before it": {func(f *floor, w *Waiter) {
			registering(f, w)
			f.queue.Registered([]*Waiter{w}, []int64{6}, false)
			f.queue.Stands(5, f.now)
		}, false},
		"it wants other locks, too": {func(_ *floor, w *Waiter) { w.Set = true }, false},
		"it has no place to get":    {func(_ *floor, w *Waiter) { w.Registers = false }, false},
		"the run is over": {func(f *floor, w *Waiter) {
			f.queue.run.count(f.now)
			f.now += runTime
		}, false},
		"it left": {func(f *floor, w *Waiter) { f.queue.Leave(w) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.enrol("w1", "w2")
			f.win("w1")
			f.queue.Took(3 * time.Millisecond)
			c.before(f, f.waiters["w2"])
			w, _, most := f.queue.HeirRegistering(f.waiters["w1"].Kind.Mode(), f.now)
			require.Equal(t, c.kept, w != nil)
			if c.kept {
				require.Equal(t, f.waiters["w2"], w)
				require.Equal(t, 6*time.Millisecond, most)
			}
		})
	}
}

// Whoever keeps a hold is told when a registration is answered, when none is under way any more, and when the first
// leaves.
func TestWhoKeepsAHoldIsTold(t *testing.T) {
	for name, happens := range map[string]func(f *floor, w *Waiter){
		"answered":          func(f *floor, w *Waiter) { f.queue.Registered([]*Waiter{w}, []int64{5}, false) },
		"not answered":      func(f *floor, w *Waiter) { f.queue.Registered([]*Waiter{w}, nil, true) },
		"nobody registers":  func(f *floor, _ *Waiter) { f.queue.EndRegistrar() },
		"the waiter leaves": func(f *floor, w *Waiter) { f.queue.Leave(w) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.enrol("w1", "w2", "w3")
			f.win("w1")
			w := f.waiters["w2"]
			require.True(t, f.queue.BeginRegistrar(w))
			f.queue.Entrants(f.queue.Unplaced(100), 7)
			_, told, _ := f.queue.HeirRegistering(w.Kind.Mode(), f.now)
			_, again, _ := f.queue.HeirRegistering(w.Kind.Mode(), f.now)
			require.Equal(t, told, again)
			f.queue.Leave(f.waiters["w3"])
			select {
			case <-told:
				t.Fatal("nothing happened to the first")
			default:
			}
			happens(f, w)
			<-told
		})
	}
}
