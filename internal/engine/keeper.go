package engine

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// kept is what a grant has that may be idle, or whose holders want to learn that others wait. The mutex of the Key
// guards it, but for its place among the idle ones, which the keeper's guards. Since when it has its place, and
// when the store was asked, is read without a mutex.
//
// A grant that was asked for with Keep stays with the process when its last Hold is over and nobody here waits: it is
// idle, and the next call has it without a request. No other client can see that. So it must not stay for long where
// another client may want the lock:
//
//   - Its id is marked. When such an id is in the way of a request, the store tells the client of the grant. An idle
//     grant is released at once. A held one is released with its unlock, unless others of its process wait: they have
//     their run as ever (see pass).
//   - A client that cannot say that it waits, or whose message is lost, finds the lock free a second after the request
//     that brought the grant, or with the unlock after that (KeepMost), and for long enough that one which polls comes
//     to see it (localqueue.KeptPause).
//   - A name that other clients waited for is not kept for a while, which grows each time. A name that this
//     process found taken by a client which does not say that it waits is not kept for some seconds.
//
// An idle grant is listed in its Key like any other, is renewed, and can be lost; nobody is told of that.
type kept struct {
	timer   watchdog.Timer
	armed   bool
	since   time.Duration // when it became idle
	wanted  bool          // another client waits for the lock
	channel chan struct{} // of Wanted, for the present Hold; nil: it has not asked for one
	gone    chan struct{} // closed when it was let go; nil: nobody has begun to

	at     *list.Element // among those that were idle; nil: it is not among them
	placed atomic.Int64  // when it came to its place there, or 0

	answered atomic.Int64 // when the request was sent by whose answer the store has it
}

// keeper is what a client knows of all the grants that it keeps, and of names that other clients want.
type keeper struct {
	most int
	deaf atomic.Pointer[deafness] // nil: the client hears who wants a lock, or will soon

	mu     sync.Mutex // innermost; guards what is below
	idle   list.List  // of *Grant: the idle ones, and those that were; the longest unused first, but for placeFor
	wanted map[string]backOff
}

// backOff is for how long a name is not kept because another client wanted it.
type backOff struct {
	until time.Duration // because one asked for it
	pause time.Duration
	mute  time.Duration // until when, because one had it that did not ask
}

// deafness is why a client does not hear that others want a lock: it lacks a right. It keeps no lock then, and one line
// of the log says so.
type deafness struct {
	right string
	told  sync.Once
}

// KeepMost is how long after the request that brought it a grant is released when it is idle, however often it was
// used: others may want the lock who have no way to say so, or the store may have lost it.
const KeepMost = time.Second

// placeFor is how long a grant keeps its place among the idle ones, though it was used since: a turn in memory then
// needs nothing that is shared with other names.
const placeFor = 100 * time.Millisecond

const (
	wantedMost = 4096 // names of which a client remembers that they were wanted

	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 30 * time.Second
	// muteBackOff is longer than a client that polls each 100 ms needs to find a kept lock free: it is to find it so
	// rarely that the waits for that are few beside its turns.
	muteBackOff = 10 * time.Second
)

// may reports that a name may be kept.
func (r *keeper) may(name string, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, known := r.wanted[name]
	return !known || now >= max(b.until, b.mute)
}

// taken notes that a request for a name that is kept, or would be, was refused because another client had it, and that
// the process of that client does not keep it. A client that asked for it is known (backOff).
func (r *keeper) taken(name string, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.wanted[name]; now >= b.until {
		b.mute = now + muteBackOff
		r.setLocked(name, b, now)
	}
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
	r.setLocked(name, b, now)
}

// setLocked makes room for one more name if there are too many.
func (r *keeper) setLocked(name string, b backOff, now time.Duration) {
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
		if now-b.until > b.pause && now >= b.mute {
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

// rests notes that a grant is idle since an instant, for the first time or again. If there are too many, it takes the
// longest unused one off, and returns it: that may be in use.
func (r *keeper) rests(g *Grant, at time.Duration) (over *Grant) {
	if placed := g.kept.placed.Load(); placed > 0 && at-time.Duration(placed) < placeFor {
		return nil // should it be taken off at this moment, it is let go
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g.kept.placed.Store(int64(at))
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
		g.kept.placed.Store(0)
	}
}

// isEmpty reports that no grant is idle.
func (r *keeper) isEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idle.Len() == 0
}

// keeps settles whether the grant that a request comes to may be idle later. From then on the client listens for those
// who want it.
func (e *Engine) keeps(req *Request) *Request {
	if deaf := e.keeper.deaf.Load(); deaf != nil && req.Keep > 0 {
		deaf.told.Do(func() {
			e.events.warn("no lock is kept, because the server refuses to tell this client that others wait: grant "+
				"the user this right", "rights", deaf.right, "lock", req.Proto.Name())
		})
		plain := *req
		plain.Keep, req = 0, &plain
	}
	if req.Keep > 0 && !e.mayKeep(req.Proto) {
		plain := *req
		plain.Keep, plain.Unkept, req = 0, true, &plain
	}
	if req.Keep > 0 || req.Yields {
		e.store.ListenWanted()
	}
	return req
}

// mayKeep reports that neither others who want the lock nor their turns keep the process from keeping it.
func (e *Engine) mayKeep(p store.Rules) bool {
	now := e.clock.Now()
	return e.keeper.may(p.Key(), now) && !e.table.leaves(p, now)
}

// deaf is told by the store that this client lacks a right without which it does not hear that others want a lock. What
// is idle is released, and what is held with its unlock, until the client hears again.
func (e *Engine) deaf(right string) {
	e.keeper.deaf.CompareAndSwap(nil, &deafness{right: right})
	for _, g := range e.table.all() {
		g.key.mu.Lock()
		idle := g.kept != nil && g.IsIdleLocked()
		g.key.mu.Unlock()
		if idle {
			e.sender.Spawn(g.letGo) // refused when Close is at work, which ends it
		}
	}
}

// leaves reports that the process leaves a key to others at an instant. A Lock waits for that; a TryLock, which does
// not, takes what is free, and does not keep it.
func (t *table) leaves(p store.Rules, now time.Duration) bool {
	k := t.peek(p)
	if k == nil {
		return false
	}
	defer k.mu.Unlock()
	return k.queue != nil && now < k.queue.LeftUntil()
}

// rest makes g idle, whose last Hold is over since an instant, if it may be kept and nobody of this process waits for
// it. It reports false if g is to be released. Another grant, which was unused for the longest time, may have to go
// for it.
func (k *Key) rest(g *Grant, at time.Duration) bool {
	if g.kept == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !g.freshLocked(at) || k.queue != nil && !k.queue.Empty() || !k.listsLocked(g) || !g.IdleLocked(at) {
		return false
	}
	e := g.engine()
	g.kept.since, g.kept.channel = at, nil
	if !g.kept.armed {
		g.kept.armed = true
		g.kept.timer.Init(func(arg any) { arg.(*Grant).idleFor() }, g)
		e.wheel.Schedule(&g.kept.timer, g.idleUntilLocked())
	}
	if oldest := e.keeper.rests(g, at); oldest != nil {
		e.sender.Spawn(oldest.letGo) // refused when Close is at work, which ends it
	}
	return true
}

// freshLocked reports that nothing is known, and nothing can have happened for long, that keeps a kept grant from its
// process.
func (g *Grant) freshLocked(now time.Duration) bool {
	return !g.kept.wanted && !g.suspect && now-g.since < KeepMost &&
		g.engine().keeper.deaf.Load() == nil
}

// idleUntilLocked is until when an idle grant stays so.
func (g *Grant) idleUntilLocked() time.Duration { return min(g.kept.since+g.Keep(), g.since+KeepMost) }

// idleFor is called by the wheel.
func (g *Grant) idleFor() {
	if g.isOverdue() {
		g.engine().sender.Spawn(g.letGo) // refused when Close is at work, which ends it
	}
}

// isOverdue reports to the wheel, which rounds down, that the grant has been idle for as long as it may. The timer is
// armed once, and looks again if the grant was used meanwhile, so that a turn sets no timer.
func (g *Grant) isOverdue() bool {
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	at, e := g.idleUntilLocked(), g.engine()
	if g.IsIdleLocked() && at > e.clock.Now()+hold.Tick {
		e.wheel.Schedule(&g.kept.timer, at)
		return false
	}
	g.kept.armed = false // and again when it is idle again
	return g.IsIdleLocked()
}

// letGo releases an idle grant, or waits until another goroutine has released it. A call may have it by now, and then
// nothing is done.
func (g *Grant) letGo() {
	g.key.mu.Lock()
	mine, gone := g.UnusedLocked(), g.kept.gone
	if mine {
		gone = make(chan struct{})
		g.kept.gone = gone
	}
	g.key.mu.Unlock()
	switch {
	case mine:
		defer close(gone)
		defer g.sweep()
		g.retired()
		e := g.engine()
		_ = e.sendRelease(g, g.since, releaseEnd(e, e.clock.Now()), true, false)
	case gone != nil:
		<-gone
	}
}

// unusedLocked is a grant that nobody uses and that is in the way of a request, because it is idle, or is being
// released. It is nil if there is none.
func (k *Key) unusedLocked(p store.Protocol) *Grant {
	g := k.grant
	if g == nil || g.kept == nil || !p.Excludes(g.proto.Mode()) || !g.IsIdleLocked() && g.kept.gone == nil {
		return nil
	}
	return g
}

// resume passes the idle grant to the request, if it may have it as it is; if not, the Hold is nil. Age is how long ago
// the request was sent that the store answered last, and gap how long the grant was idle. Where no token is spare, as
// after the first hold of a name, the Hold has none yet, which is 0: the store has to mint some (see mint).
func (t *table) resume(req *Request) (h *hold.Hold, age, gap time.Duration) {
	if req.Keep == 0 {
		return nil, 0, 0
	}
	k := t.peek(req.Proto)
	if k == nil {
		return nil, 0, 0
	}
	defer k.mu.Unlock()
	g, now := k.grant, t.engine.clock.Now()
	if g == nil || !g.IsIdleLocked() || !g.freshLocked(now) || !req.Proto.Inherits(g.proto.Mode()) ||
		k.queue != nil && !k.queue.Empty() {
		return nil, 0, 0
	}
	if g.spare == 0 {
		return g.PassToLocked(&req.Want, now, 0, ""), 0, 0
	}
	h = g.PassToLocked(&req.Want, now, g.fence+1, "")
	if h != nil {
		g.fence, g.spare = g.fence+1, g.spare-1
	}
	return h, now - time.Duration(g.kept.answered.Load()), now - g.kept.since
}

// clear has a grant released that is in the way of a call which does not wait for its turn, and waits for that: nobody
// holds the lock.
func (e *Engine) clear(ctx context.Context, p store.Protocol) {
	if e.keeper.isEmpty() {
		return
	}
	k := e.table.peek(p)
	if k == nil {
		return
	}
	g := k.unusedLocked(p)
	k.mu.Unlock()
	done := make(chan struct{})
	if g == nil || !e.sender.Spawn(func() { defer close(done); g.letGo() }) {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	case <-e.sender.Closing():
	}
}

// wanted is told by the store that another client waits for a lock of which this one has, or is about to have, the
// grant with an id.
//
// Nothing bounds how often. A try that is refused waits for the recall, and others of its process are refused here
// meanwhile; so eight processes that do nothing but try one held lock have the store say so 3,600 times a second, which
// takes 8 % of a core here, and the store has half of the work that the same loops make on a lock that is not kept.
func (e *Engine) wanted(key, id string) {
	k := e.table.peekAt(key, store.OneHolder) // which is what is kept
	if k == nil {
		return
	}
	g := k.wantedLocked(id)
	k.mu.Unlock()
	if g != nil {
		e.sender.Spawn(g.letGo) // refused when Close is at work, which ends it
	}
}

// wantedLocked notes that another client waits for what has an id, and returns that grant if it is idle. What is no
// grant yet may be a request under way, whose waiter then notes it.
func (k *Key) wantedLocked(id string) (idle *Grant) {
	for g := range k.grantsLocked() {
		if g.id != id || g.kept == nil {
			continue
		}
		g.kept.wanted = true
		if g.IsIdleLocked() {
			return g
		}
		g.kept.signal()
		return nil
	}
	for w := range k.waitersLocked() {
		if w.ID == id {
			waiterOf(w).wanted = true
		}
	}
	return nil
}

// wantedHereLocked lets holders learn that another caller of their own process waits.
func (k *Key) wantedHereLocked() {
	for g := range k.grantsLocked() {
		if g.kept != nil {
			g.kept.signal()
		}
	}
}

// signal closes the channel of the present Hold, if it has one.
func (k *kept) signal() {
	if k.channel == nil {
		return
	}
	select {
	case <-k.channel:
	default:
		close(k.channel)
	}
}

// wantedByLocked is the end of a run of a grant that may have been kept. If others want the lock, it is not kept for a
// while, and a client that said so is owed a turn.
func (k *Key) wantedByLocked(g *Grant, ends runEnd) runEnd {
	if g.kept.wanted {
		ends = ends.wanted()
	}
	if ends.receivers > 0 && ends.others > 0 {
		k.table.engine.keeper.backOff(k.name, k.table.engine.clock.Now())
	}
	return ends
}

// Wanted is closed when another caller, of this process or of another one, waits for the lock that ctx holds. A client
// that finds the id of the hold in its way says so with each of its requests, of which each may be lost. Others say
// nothing. It is nil if the call that began the hold did not ask for that.
func (e *Engine) Wanted(ctx context.Context, p store.Protocol) (<-chan struct{}, error) {
	l := e.carried(ctx, p)
	if l == nil {
		return nil, &callError{kind: e.cfg.Errors.NotHeld, of: p}
	}
	g := grantOf(l.Hold())
	if err := g.standing(l); err != nil {
		return nil, err
	}
	k := g.key
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.kept == nil {
		return nil, nil
	}
	if g.kept.channel == nil {
		g.kept.channel = make(chan struct{})
	}
	if g.kept.wanted || k.queue != nil && !k.queue.Empty() {
		g.kept.signal()
	}
	return g.kept.channel, nil
}

// recallTime is how long another client needs to release an idle grant after a request was refused that took trip: the
// store's message to it, and its release, take one way each, and both processes have to come to it.
func recallTime(trip time.Duration) time.Duration {
	return min(2*trip, 250*time.Millisecond) + 2*time.Millisecond
}
