package engine

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/watchdog"
)

// A grant that was asked for with Keep stays with the process when its last Hold is over and nobody here waits: it is
// idle, and the next call has it without a request. Nobody else can see that it is idle. So it must not stay for long
// where somebody else may want it:
//
//   - Its id is marked. A request that finds such an id in its way has the store tell that to the client of the grant:
//     the client is wanted to let the lock go. An idle grant is released at once, one that somebody has when that Hold
//     is over, unless others of the process wait: they have their run as ever (see pass).
//   - Those who cannot say that they want it, or whose word is lost, find it free at the latest a second after the
//     request that brought it ([hold.KeepMost]): then it is released.
//   - A name that was wanted is not kept for a while, which grows each time.
//
// An idle grant is listed in its Key like any other, is renewed, and can be lost; nobody is told of that.

// kept is what a grant has that may be idle. It is guarded by the mutex of the Key, but for its place among the idle
// ones, which is the keeper's.
type kept struct {
	timer  watchdog.Timer
	armed  bool
	wanted bool          // somebody else waits for the lock
	idle   time.Duration // since when it is idle

	grant      *Grant
	prev, next *kept
}

// keeper is what a client knows of all the grants that it keeps, and of names that others want.
type keeper struct {
	most int

	mu          sync.Mutex // innermost; guards what is below
	first, last *kept      // the idle grants, the longest unused first
	count       int
	wanted      map[string]backOff
}

// backOff is for how long a name is not kept because somebody else wanted it.
type backOff struct {
	until time.Duration
	pause time.Duration
}

const (
	keptMost   = 1024 // idle grants of a client, unless it says otherwise
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
	if r.count++; r.count <= r.most {
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
	r.count--
}

// idles is how many grants are idle.
func (r *keeper) idles() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// keeps settles whether what a request comes to may be idle later. The client listens for those who want it from then
// on.
func (e *Engine) keeps(req Request) Request {
	if req.Keep > 0 {
		if !e.keeper.may(req.Proto.Key(), e.clock.Now()) {
			req.Keep = 0
		} else {
			e.store.ListenWanted()
		}
	}
	return req
}

// rest makes g idle, whose last Hold is over and which nobody of this process waits for; it reports false if g is to be
// released.
func (g *Grant) restLocked(now time.Duration) bool {
	if g.kept == nil || g.kept.wanted || g.suspect || g.spare == 0 || !g.IdleLocked(g.since) {
		return false
	}
	g.kept.idle = now
	if !g.kept.armed {
		g.kept.armed = true
		g.kept.timer.Init(func(arg any) { arg.(*Grant).tooLong() }, g)
		g.engine().wheel.Schedule(&g.kept.timer, g.idleUntilLocked())
	}
	return true
}

// idleUntilLocked is until when an idle grant stays so.
func (g *Grant) idleUntilLocked() time.Duration {
	return min(g.kept.idle+g.Keep(), g.since+hold.KeepMost)
}

// tooLong is called by the wheel, which rounds down. The timer is armed once, and looks again if the grant was used
// meanwhile: a turn sets no timer.
func (g *Grant) tooLong() {
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	at := g.idleUntilLocked()
	switch now := g.engine().clock.Now(); {
	case !g.IsIdleLocked(): // it is armed when it is idle again
		g.kept.armed = false
	case at > now+hold.Tick:
		g.engine().wheel.Schedule(&g.kept.timer, at)
	default:
		g.kept.armed = false
		g.engine().sender.Spawn(func() { g.letGo() }) // refused when Close is at work, which ends it
	}
}

// wanted is told by the store that somebody else waits for a lock of which this client has, or is about to have, the
// grant with an id.
func (e *Engine) wanted(key, id string) {
	k := e.table.peek(key)
	if k == nil {
		return
	}
	g := k.wantedLocked(id)
	k.mu.Unlock()
	if g != nil {
		e.sender.Spawn(func() { g.letGo() })
	}
}

// wantedLocked notes that somebody else waits for the grant of an id, and returns it if it is idle. An id that is not
// known may be that of a request under way: then its waiter notes it.
func (k *Key) wantedLocked(id string) *Grant {
	for g := range k.grantsLocked() {
		if g.id == id && g.kept != nil {
			g.kept.wanted = true
			if g.IsIdleLocked() {
				return g
			}
			return nil
		}
	}
	for w := range k.waitersLocked() {
		if w.ID == id {
			waiterOf(w).wanted = true
		}
	}
	return nil
}

// letGo releases an idle grant.
func (g *Grant) letGo() {
	e := g.engine()
	if g.retire() {
		_ = e.sendRelease(g, g.since, e.releaseEnd(), true, false)
		g.sweep()
	}
}

// resume gives an idle grant to a request, if there is one which may be had as it is. Another one is in the way.
func (t *table) resume(req Request) (h *hold.Hold, inTheWay *Grant) {
	k := t.peek(req.Proto.Key())
	if k == nil {
		return nil, nil
	}
	defer k.mu.Unlock()
	g := k.grant
	if g == nil || !g.IsIdleLocked() {
		return nil, nil
	}
	if h = g.resumeLocked(req); h == nil && req.Proto.Excludes(g.proto.Mode()) {
		return nil, g
	}
	return h, nil
}

// resumeLocked begins a Hold on an idle grant; nil: it has to be released.
func (g *Grant) resumeLocked(req Request) *hold.Hold {
	if g.kept.wanted || g.suspect || g.spare == 0 || !req.Proto.Inherits(g.proto.Mode()) ||
		g.key.queue != nil && !g.key.queue.Empty() {
		return nil
	}
	h := g.ResumeLocked(req.want(), g.fence+1, g.since)
	if h != nil {
		g.fence, g.spare = g.fence+1, g.spare-1
		g.engine().keeper.remove(g.kept)
	}
	return h
}

// take is resume for a call that holds. An idle grant that is in its way is released, for which a call that does not
// wait for its turn waits here: nobody holds the lock.
func (e *Engine) take(ctx context.Context, req Request, once bool) (h *hold.Hold) {
	h, g := e.table.resume(req)
	if g == nil {
		return h
	}
	done := make(chan struct{})
	if !e.sender.Spawn(func() { defer close(done); g.letGo() }) || !once {
		return nil
	}
	select {
	case <-done:
	case <-ctx.Done():
	case <-e.sender.Closing():
	}
	return nil
}

// recalledIn is how long a client needs to release an idle grant after a request for the lock was refused that took
// trip: the store's word to it, and its release, take one way each.
func recalledIn(trip time.Duration) time.Duration { return min(2*trip, localqueue.RunPause*10) + time.Millisecond }
