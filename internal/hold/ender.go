package hold

import (
	"sync"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Ender does what is left to do for holds and levels that time has ended, behind everything else that the
// wheel has to do at that time. To end a context means to end all that were made from it, one by one, and
// nobody knows how many those are. The wheel, on which every hold relies for its own end, must not wait for
// that, nor must the goroutine that takes in the answers to renewals.
//
// It must be in time all the same, so that a context ends before the lease can be over in Redis. The wheel
// calls up to a tick before validity ends, and validity falls short of the lease by a tick, 2 ms and 1 %. So
// the goroutine that turns the wheel ends contexts itself: in a busy process a change of goroutine can take
// far longer than that. It has itself relieved before each one; if that takes long, another goroutine
// turns the wheel and ends the next context. A context waits for others only if very many that take long end
// together.
type Ender struct {
	wheel *watchdog.Wheel
	timer watchdog.Timer

	mu    sync.Mutex // guards queue
	queue []func()
}

// Init makes d use a wheel.
func (d *Ender) Init(wheel *watchdog.Wheel) {
	d.wheel = wheel
	d.timer.Init(func(arg any) { arg.(*Ender).work() }, d)
}

// Add has end called soon.
func (d *Ender) Add(end func()) {
	d.mu.Lock()
	d.queue = append(d.queue, end)
	d.mu.Unlock()
	d.wheel.Schedule(&d.timer, 0)
}

// work is called by the wheel. If too many take long already, it is called again when one of them is done.
func (d *Ender) work() {
	if !d.waits() || !d.wheel.Relieve() {
		return
	}
	end, more := d.next()
	if more { // the goroutine that turns the wheel meanwhile goes on with it
		d.wheel.Schedule(&d.timer, 0)
	}
	if end != nil {
		end()
	}
	if d.waits() {
		d.wheel.Schedule(&d.timer, 0)
	}
}

func (d *Ender) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue) > 0
}

func (d *Ender) next() (end func(), more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return nil, false
	}
	end = d.queue[0]
	d.queue[0] = nil
	if d.queue = d.queue[1:]; len(d.queue) == 0 {
		d.queue = nil
	}
	return end, d.queue != nil
}

// Finish does what is left when the wheel was closed.
func (d *Ender) Finish() {
	for {
		end, _ := d.next()
		if end == nil {
			return
		}
		end()
	}
}
