package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/wake"
)

// runLeast is how short a run gets at most: between two of them lies a round trip and a message.
const runLeast = 10

// The methods below need the lock of the part that the row is in.

// free reports whether w may ask Redis: no local hold but except is in its way, and nobody in line
// before it goes first.
func (r *row) free(w *waiter, except *Hold) bool {
	if r.excluded(w.req.Proto, except) {
		return false
	}
	if r.line == nil || r.line.blocking == 0 {
		return true
	}
	for other := r.first(); other != nil && other != w; other = other.next {
		if other.blocks() && w.req.Proto.Follows(other.req.Proto.Mode()) {
			return false
		}
	}
	return true
}

// refuses reports that a try of w need not ask Redis: a hold of this process is in its way, or somebody in
// line before it who was refused, by Redis or by such a hold, and so has an older claim. Whoever was not
// refused has none: with the lock free, it could have been had in either order. A try may overtake it until
// its first answer, and no longer. While Redis is silent, what it said before says nothing.
func (r *row) refuses(w *waiter) bool {
	if r.excluded(w.req.Proto, nil) {
		return true
	}
	if r.line == nil || r.line.silent != nil {
		return false
	}
	for other := r.first(); other != nil; other = other.next {
		if w.req.Proto.Follows(other.req.Proto.Mode()) && (other.refused || r.excluded(other.req.Proto, nil)) {
			return true
		}
	}
	return false
}

// promote makes leaders of those at the front of the line whom nothing local stops. It ends at the
// first who has to wait: nobody overtakes. For an exclusive lock that is the first in line or nobody;
// readers lead together.
func (r *row) promote() {
	if r.line == nil || r.line.calm && r.line.blocking == 0 {
		return
	}
	var ahead modes
	for w := r.first(); w != nil; w = w.next {
		p := w.req.Proto
		if w.place == offered || r.excluded(p, nil) || ahead.any("", false, p.Follows) {
			return
		}
		if w.place == queued {
			w.place = leading
			w.tell()
		}
		if w.next != nil && w.blocks() {
			ahead.add(p.Mode(), 1)
		}
	}
	r.line.calm = true
}

// first is the first in line, nil if nobody waits.
func (r *row) first() *waiter {
	if r.line == nil {
		return nil
	}
	return r.line.first
}

// over reports that the run of hand-offs has been long enough. The first one is always granted: with
// long critical sections, every other turn is a real release. Those that cost no request go on until what
// they took outweighs what others wait for besides: a release, a message and a request, which are trips.
func (l *line) over(now time.Duration) bool {
	if l.turns+l.passed == 0 {
		return false
	}
	turns, took, outweighs := l.run(), now-l.since, min(runTrips*l.trip, runTime)
	return l.turns >= turns || took >= max(runTime*time.Duration(turns)/runCount, outweighs) ||
		l.passed >= runFew && took >= max(runShort, outweighs)
}

// run is how many hand-offs make a run. The more processes take turns, the shorter each one's is: how
// long it is until a process has the next one is to depend little on how many there are.
func (l *line) run() int {
	if l.others <= 2 {
		return runCount
	}
	return max(5*runCount/4/l.others, runLeast)
}

// incur has the process owe a turn to each of the others who heard of the end of its run.
//
// Who hears need not want the name: a subscription lingers. So those whose turn was waited for in vain,
// which is what was owing still when this run began, are not waited for this time, and the next time
// again: somebody may have been too slow. One of them always is, or with one process alone here nobody
// who is slower would ever get in.
//
// While we are subscribed our own message comes too: it is owed like the others', and pays for itself.
func (l *line) incur(others int, now time.Duration) {
	if l.owes > 0 {
		l.absent = min(l.absent+l.owes, others-1)
	} else {
		l.absent = 0
	}
	l.out, l.others = now+runPause, others-l.absent
	l.owes = min(l.others, maxOwed)
	if l.heard != (wake.Count{}) {
		l.owes++
	}
}

// reckon takes off what was heard, and reports whether there was anything. If messages may have been
// missed, those from here on count.
func (l *line) reckon(heard wake.Count) bool {
	n, _ := heard.Since(l.heard)
	l.owes, l.heard = max(l.owes-n, 0), heard
	return n > 0
}

func (at *line) append(w *waiter) {
	w.prev, w.next = at.last, nil
	if at.last == nil {
		at.first = w
	} else {
		at.last.next = w
	}
	at.last = w
	w.listed = true
	if w.blocks() {
		at.blocking++
	}
}

func (r *row) remove(w *waiter) {
	if !w.listed {
		return
	}
	w.listed = false
	if w.blocks() {
		r.line.blocking--
	}
	if w.prev == nil {
		r.line.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		r.line.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}
