package localqueue

import "time"

// A Portion is one of several that are held at a time. No hold of one is in another's way, so the first in the queue
// asks the store and then listens, though holds of its own process live. It is given one of those when it comes back,
// unless a request of its own is under way or its fate unknown: it may come to another one by that.
//
// Every portion has a run of its own: when others of its key were taken from the store says nothing about how long this
// one was kept from other processes.
type Portion struct {
	Size int64 // it passes to a waiter that wants as much
	run  run
}

// watch is what the store said to the first waiter in the queue: that there is not as much. Until then, and as long as
// nothing more is heard, others that want as much rely on that: a queue that is served in memory asks nothing.
type watch struct {
	size  int64
	heard Heard
	until time.Duration
}

// heirOf is the heir of a portion. The first in the queue decides: what it does not want becomes free, and
// nobody behind it is served first. One whose request for as much is under way is passed by, since its
// answer is on its way.
func (q *Queue) heirOf(mode string, p *Portion) *Waiter {
	w := q.first
	for w != nil && w.requesting && w.Size == p.Size {
		w = w.next
	}
	if w == nil || !w.rests() || w.Size != p.Size || !w.Kind.Inherits(mode) {
		return nil
	}
	return w
}

// rests reports that nothing can come to w but what it is given.
func (w *Waiter) rests() bool {
	return !w.requesting && (w.state == Waiting || w.state == Asking && w.changed != nil)
}

// ReleasedPortion is Released for a portion. Where the runs of several end together, that is one debt: nobody was
// waited for in vain between them.
func (q *Queue) ReleasedPortion(others int, now time.Duration) {
	q.watch = watch{}
	if others > 0 && q.debt.owes > 0 && now < q.debt.until {
		q.debt.others = others - q.debt.absent
		q.debt.owes++ // our own message comes for each
		others = 0
	}
	q.Released(others, now)
}

// Request notes that w, which asks for a portion, is about to send a request. It reports false, and for how long,
// if w need not, because another was told that there is not as much and nothing was heard since: then w rests.
func (q *Queue) Request(w *Waiter, heard Heard, now time.Duration) (wait time.Duration, send bool) {
	select {
	case <-w.changed: // what it tells has been looked at
	default:
	}
	if heard.Subscription != 0 && heard == q.watch.heard && w.Size == q.watch.size && now < q.watch.until {
		q.refuse(w)
		w.rest()
		return q.watch.until - now, false
	}
	w.requesting = true
	return 0, true
}

// Rest notes that the last request of w was refused, and that none is under way. Until says how long that is worth
// something to others, if nothing is heard but what was heard before that request; 0: nothing.
func (q *Queue) Rest(w *Waiter, heard Heard, until time.Duration) {
	w.rest()
	q.watch = watch{w.Size, heard, until}
}

// Settled notes that no request of w is under way, nor may one be carried out.
func (w *Waiter) Settled() { w.requesting = false }

// rest has w be told of what it is given while it asks.
func (w *Waiter) rest() {
	w.requesting = false
	if w.changed == nil {
		w.changed = make(chan struct{}, 1)
	}
}
