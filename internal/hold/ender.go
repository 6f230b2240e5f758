package hold

import "sync"

// enders is how many goroutines end contexts at a time. Contexts wait for others only if this many take long together.
const enders = 16

// Ender does what is left to do for holds and levels that time has ended. To end a context means to end all that were
// made from it, one by one, and nobody knows how many those are. The wheel, on which every hold relies for its own
// end, must not wait for that, nor must the goroutine that takes in the answers to renewals. So what they find ended
// is over at once, and goroutines of the Ender's own end the contexts.
//
// They must be in time all the same, so that a context ends before the lease can be over in the store. The wheel calls
// up to a tick before validity ends, and validity falls short of the lease by a tick, 2 ms and 1 %. In a busy process
// a goroutine that was woken may wait far longer before it runs. A goroutine that was just started runs next: on a
// processor that is idle, or as soon as the goroutine that started it has nothing more to do.
type Ender struct {
	running sync.WaitGroup

	mu    sync.Mutex // guards all below
	queue []func()
	count int // of goroutines
}

// Add has end called soon.
func (d *Ender) Add(end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, end)
	if d.count < enders {
		d.count++
		d.running.Go(d.run)
	}
}

// run ends what is in the queue. It counts itself off under the mutex under which it found the queue empty, so that
// nothing is left there.
func (d *Ender) run() {
	for end := d.next(); end != nil; end = d.next() {
		end()
	}
}

func (d *Ender) next() (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		d.queue = nil
		d.count--
		return nil
	}
	end = d.queue[0]
	d.queue[0] = nil
	d.queue = d.queue[1:]
	return end
}

// Finish waits until all is done that was added. Nothing may be added any more.
func (d *Ender) Finish() { d.running.Wait() }
