package request

import "sync/atomic"

// mostParked is how many workers wait for the next request: as many as usually are under way at a time.
const mostParked = 8

// workers run requests beside their callers, for stores whose requests cannot be left in the middle. Some of them are
// parked until the next request comes. A goroutine that is new has a small stack, which is copied again and again on
// the way into a database's driver; that of a parked one has grown.
type workers struct {
	next   chan func()
	parked atomic.Int32
}

// run runs fn in a worker, which the Sender joins. It returns false if the Sender is closed.
func (w *workers) run(s *Sender, fn func()) bool {
	select {
	case w.next <- fn: // a parked worker takes it
		return true
	default:
		return s.Spawn(func() { w.work(s, fn) })
	}
}

func (w *workers) work(s *Sender, fn func()) {
	for {
		fn()
		if w.parked.Add(1) > mostParked {
			w.parked.Add(-1)
			return
		}
		select {
		case fn = <-w.next:
			w.parked.Add(-1)
		case <-s.closing:
			return
		}
	}
}
