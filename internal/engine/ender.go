package engine

import "sync"

// mostEnders bounds the goroutines that end contexts.
const mostEnders = 16

// ender does what is left to do for holds and levels that time has ended, away from the goroutines that
// found it out: the wheel's, on which every hold relies for its own end, and the one that takes in the
// answers to renewals. To end a context means to end all that were made from it, one by one, and nobody
// knows how many those are.
//
// It must be in time all the same, so that a context ends before the lease can be over in Redis. The wheel
// calls up to a tick before validity ends, and validity falls short of the lease by a tick, 2 ms and 1 %. Of
// that this takes what it takes to start a goroutine: it runs when the wheel's goroutine comes to rest, or
// before on another processor. While one of them is busy with a context of very many children, the next
// runs beside it, on a processor that is idle, or when the scheduler takes the busy one's away, which is
// after 10 ms, a tick. Only if mostEnders such contexts end at one time does one wait for another.
//
// Goroutines are started one by one, each by the one before it, as long as something waits: many holds that
// end together are ended one after another by the first, which needs no change of goroutine.
type ender struct {
	engine *Engine

	mu      sync.Mutex // guards all below
	queue   []func()
	working int
	coming  bool // a goroutine was started that has not taken anything yet
}

// add has end called soon.
func (d *ender) add(end func()) {
	d.mu.Lock()
	d.queue = append(d.queue, end)
	more := d.callLocked()
	d.mu.Unlock()
	if more {
		d.start()
	}
}

// callLocked reports whether one more goroutine is to be started.
func (d *ender) callLocked() bool {
	if d.coming || len(d.queue) == 0 || d.working == mostEnders {
		return false
	}
	d.coming = true
	d.working++
	return true
}

// start has a goroutine work that Close joins. If Close has begun already the caller works, which is a
// goroutine that Close joins later: the wheel's or the watchdog's.
func (d *ender) start() {
	if !d.engine.spawn(d.work) {
		d.work()
	}
}

func (d *ender) work() {
	d.mu.Lock()
	d.coming = false
	for len(d.queue) > 0 {
		end := d.queue[0]
		d.queue[0] = nil
		d.queue = d.queue[1:]
		more := d.callLocked()
		d.mu.Unlock()
		if more {
			d.start()
		}
		end()
		d.mu.Lock()
	}
	d.queue = nil
	d.working--
	d.mu.Unlock()
}
