package links

import (
	"sync/atomic"
	"time"
)

// activity is whether a follower beats or rests.
//
// Something can be about to be sent while the follower falls asleep. endsRest sets busy and then reads awake; rests
// clears awake and then reads busy. So at least one of them sees the other: endsRest finds the follower asleep, or
// rests finds busy set. If both do, one of the two swaps of awake fails: either the follower goes on to beat and
// nothing wakes it, or it rests and is woken.
type activity struct {
	busy  atomic.Bool   // something was sent since the last beat
	awake atomic.Bool   // the follower has a goroutine that beats
	wake  chan struct{} // wakes that goroutine when it rests
	idle  time.Duration // after this time without anything sent it rests
}

// endsRest records that something is about to be sent. It reports that no goroutine beats: the caller starts or
// wakes the follower's.
func (a *activity) endsRest() bool {
	if !a.busy.Load() {
		a.busy.Store(true)
	}
	return !a.awake.Load() && a.awake.CompareAndSwap(false, true)
}

// rests begins a rest. It reports false if something was sent meanwhile, and the follower goes on.
func (a *activity) rests() bool {
	a.awake.Store(false)
	return !a.busy.Load() || !a.awake.CompareAndSwap(false, true)
}
