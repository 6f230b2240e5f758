package localqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A hold passes to one that has a place in Redis's queue only where it is the next there as well, as far as that is
// known, and nothing that was sent under its id can come late.
func TestPassingToOneThatHasAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		before func(f *floor, w *Waiter)
		passes bool
	}{
		"it stands next":           {func(*floor, *Waiter) {}, true},
		"it has no place yet":      {func(_ *floor, w *Waiter) { w.SetTicket(0) }, false},
		"another stands before it": {func(_ *floor, w *Waiter) { w.SetTicket(6) }, false},
		"it is to be registered again": {func(f *floor, _ *Waiter) {
			f.queue.Lapse(false)
			require.Len(f.t, f.queue.Unplaced(100), 1)
		}, false},
		"it is being registered": {func(f *floor, w *Waiter) {
			f.queue.Lapse(false)
			f.queue.Entrants(f.queue.Unplaced(100))
		}, false},
		"it was registered again": {func(f *floor, w *Waiter) {
			f.queue.Lapse(false)
			batch := f.queue.Unplaced(100)
			f.queue.Entrants(batch)
			f.queue.Registered(batch, []int64{5}, 0)
		}, true},
		"nobody knows whether it was registered": {func(f *floor, w *Waiter) {
			f.queue.Entrants([]*Waiter{w})
			f.queue.Registered([]*Waiter{w}, nil, 7)
		}, false},
		"a registration before had no answer": {func(f *floor, w *Waiter) {
			f.queue.Registered([]*Waiter{w}, nil, 7)
			f.queue.Registered(f.queue.Entrants([]*Waiter{w}), []int64{5}, 0)
		}, false},
		"the hold was meant for another": {func(f *floor, _ *Waiter) { f.queue.Swapped() }, false},
		"its place may be gone":          {func(f *floor, _ *Waiter) { f.queue.Lapse(false) }, false},
		"an older answer comes later":    {func(f *floor, _ *Waiter) { f.queue.Stands(0, f.now-1) }, true},
		"a newer answer says so":         {func(f *floor, _ *Waiter) { f.queue.Stands(4, f.now) }, false},
		"it asks":                        {func(f *floor, w *Waiter) { f.queue.Poll(w) }, false},
		"it asked, and was refused": {func(f *floor, w *Waiter) {
			f.queue.Poll(w)
			require.True(f.t, f.queue.StepBack(w))
		}, true},
		"that was said long ago": {func(f *floor, _ *Waiter) { f.now += runTime }, false},
		"it was on its way for long": {func(f *floor, _ *Waiter) {
			f.queue.Took(longTrip)
			f.now += longTrip + runTime - 1
		}, true},
		"that was said long ago, however long its way": {func(f *floor, _ *Waiter) {
			f.queue.Took(time.Hour)
			f.now += longTrip + runTime
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.enrol("w1", "w2")
			f.win("w1")
			f.queue.Stands(5, f.now)
			f.waiters["w2"].SetTicket(5)
			c.before(f, f.waiters["w2"])
			w, runOver := f.next("w1")
			require.Equal(t, c.passes, w != nil)
			require.False(t, runOver)
		})
	}
}

// Behind a hold of its own process only the first is heard of.
func TestOnlyTheFirstPolls(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2", "w3")
	f.win("w1")
	require.True(t, f.queue.Poll(f.waiters["w3"]))
	f.asking()
	require.True(t, f.queue.Poll(f.waiters["w2"]))
	require.Len(t, f.waiters["w2"].Changed(), 1, "it is not its own goroutine that polls")
	f.asking("w2")
	f.leave("w2")
	require.False(t, f.queue.Poll(f.waiters["w2"]), "it is gone")
}
