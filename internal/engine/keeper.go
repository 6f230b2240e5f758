package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// keeper is what a client knows of all the grants that it keeps, and of names that others want.
type keeper struct {
	most  int32
	count atomic.Int32 // of the idle grants; written under the mutex

	anyWanted atomic.Bool // a name was wanted; it stays so

	mu          sync.Mutex // innermost; guards what is below
	first, last *kept      // the idle grants, the longest unused first
	wanted      map[string]backOff
}

// backOff is for how long a name is not kept because somebody else wanted it.
type backOff struct {
	until time.Duration
	pause time.Duration
}

const (
	wantedMost = 4096 // names of which a client remembers that they were wanted

	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 30 * time.Second
)

// may reports that a name may be kept.
func (r *keeper) may(name string, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, known := r.wanted[name]
	return !known || now >= b.until
}

// backOff notes that a name was wanted by somebody else. It is not kept for a time: twice as long as the last time,
// unless that was over for longer than it lasted.
func (r *keeper) backOff(name string, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.wanted[name]
	switch {
	case now < b.until:
		return
	case b.pause == 0 || now-b.until > b.pause:
		b.pause = firstBackOff
	default:
		b.pause = min(2*b.pause, lastBackOff)
	}
	b.until = now + b.pause
	if r.wanted == nil {
		r.wanted = make(map[string]backOff)
	}
	if len(r.wanted) >= wantedMost {
		r.forgetLocked(now)
	}
	r.wanted[name] = b
	r.anyWanted.Store(true)
}

// forgetLocked makes room: it drops the names whose time is over, or any one.
func (r *keeper) forgetLocked(now time.Duration) {
	for name, b := range r.wanted {
		if now-b.until > b.pause {
			delete(r.wanted, name)
		}
	}
	for name := range r.wanted {
		if len(r.wanted) < wantedMost {
			return
		}
		delete(r.wanted, name)
	}
}

// add notes an idle grant. If there are too many, it returns the one that was unused for the longest time, which is
// noted no more.
func (r *keeper) add(g *kept) (over *Grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.prev, g.next = r.last, nil
	if r.last == nil {
		r.first = g
	} else {
		r.last.next = g
	}
	r.last = g
	if r.count.Add(1) <= r.most {
		return nil
	}
	oldest := r.first
	r.removeLocked(oldest)
	return oldest.grant
}

// remove takes a grant off that is idle no more. It may be off already.
func (r *keeper) remove(g *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.prev != nil || r.first == g {
		r.removeLocked(g)
	}
}

func (r *keeper) removeLocked(g *kept) {
	if g.prev == nil {
		r.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		r.last = g.prev
	} else {
		g.next.prev = g.prev
	}
	g.prev, g.next = nil, nil
	r.count.Add(-1)
}

// idles is how many grants are idle.
func (r *keeper) idles() int { return int(r.count.Load()) }
