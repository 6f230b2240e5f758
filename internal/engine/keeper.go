package engine

import (
	"container/list"
	"sync"
	"time"
)

// keeper is what a client knows of all the grants that it keeps, and of names that other clients want.
type keeper struct {
	most int

	mu     sync.Mutex // innermost; guards what is below
	idle   list.List  // of *Grant: the idle ones, and those that were and are in use again; the longest unused first
	wanted map[string]backOff
}

// backOff is for how long a name is not kept because another client wanted it.
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

// backOff notes that another client wanted a name. The name is not kept for a time: twice as long as the last time,
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

// rests notes that a grant is idle, from now on or again. If there are too many, it takes the longest unused one off,
// and returns it: that may be in use.
func (r *keeper) rests(g *Grant) (over *Grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.kept.at != nil {
		r.idle.MoveToBack(g.kept.at)
		return nil
	}
	g.kept.at = r.idle.PushBack(g)
	if r.idle.Len() <= r.most {
		return nil
	}
	over = r.idle.Front().Value.(*Grant)
	r.removeLocked(over)
	return over
}

// remove takes a grant off that is over. It may be off already.
func (r *keeper) remove(g *Grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(g)
}

func (r *keeper) removeLocked(g *Grant) {
	if g.kept.at != nil {
		r.idle.Remove(g.kept.at)
		g.kept.at = nil
	}
}

// isEmpty reports that no grant is idle.
func (r *keeper) isEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idle.Len() == 0
}
