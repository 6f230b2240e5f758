package engine

import (
	"container/list"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// kept is what a grant has that may be idle, or whose holders want to learn that others wait. The mutex of the Key
// guards it, but for its place among the idle ones, which is the keeper's.
//
// A grant that was asked for with Keep stays with the process when its last Hold is over and nobody here waits: it is
// idle, and the next call has it without a request. No other client can see that. So it must not stay for long where
// another client may want the lock:
//
//   - Its id is marked. When such an id is in the way of a request, the store tells the client of the grant. An idle
//     grant is released at once. A held one is released with its unlock, unless others of its process wait: they have
//     their run as ever (see pass).
//   - A client that cannot say that it waits, or whose message is lost, finds the lock free a second after the request
//     that brought the grant, or with the unlock after that (KeepMost).
//   - A name that other clients waited for is not kept for a while, which grows each time.
//
// An idle grant is listed in its Key like any other, is renewed, and can be lost; nobody is told of that.
type kept struct {
	timer   watchdog.Timer
	armed   bool
	since   time.Duration // when it became idle
	wanted  bool          // another client waits for the lock
	channel chan struct{} // of Wanted, for the present Hold; nil: it has not asked for one
	gone    chan struct{} // closed when it was let go; nil: nobody has begun to

	at *list.Element // among those that were idle; nil: it was not
}

// KeepMost is how long after the request that brought it a grant is released when it is idle, however often it was
// used: others may want the lock who have no way to say so, or the store may have lost it.
const KeepMost = time.Second

// keeps settles whether the grant that a request comes to may be idle later. From then on the client listens for those
// who want it.
func (e *Engine) keeps(req Request) Request {
	if req.Keep > 0 && !e.keeper.may(req.Proto.Key(), e.clock.Now()) {
		req.Keep = 0
	}
	if req.Keep > 0 || req.Yields {
		e.store.ListenWanted()
	}
	return req
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
	if oldest := e.keeper.rests(g); oldest != nil {
		e.sender.Spawn(oldest.letGo) // refused when Close is at work, which ends it
	}
	return true
}

// freshLocked reports that nothing is known, and nothing can have happened for long, that keeps a kept grant from its
// process, and that it has a token for the next Hold.
func (g *Grant) freshLocked(now time.Duration) bool {
	return !g.kept.wanted && !g.suspect && g.spare > 0 && now-g.since < KeepMost
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
		_ = e.sendRelease(g, g.since, e.releaseEnd(), true, false)
	case gone != nil:
		<-gone
	}
}

// unusedLocked is a grant that nobody has and that is in the way of a request: one that is idle, or that is being let
// go; nil: there is none.
func (k *Key) unusedLocked(p store.Protocol) *Grant {
	g := k.grant
	if g == nil || g.kept == nil || !p.Excludes(g.proto.Mode()) || !g.IsIdleLocked() && g.kept.gone == nil {
		return nil
	}
	return g
}

// resume gives a request the idle grant of its process, if there is one that it may have as it is; nil: it has to ask.
func (e *Engine) resume(ctx context.Context, req Request) *hold.Level {
	h := e.table.resume(req)
	if h == nil {
		return nil
	}
	l, _ := begin(ctx, h, req) // nil: it was lost at this moment
	return l
}

// resume gives a request the idle grant that its process has; nil: there is none that it may have as it is.
func (t *table) resume(req Request) *hold.Hold {
	if req.Keep == 0 {
		return nil
	}
	k := t.peek(req.Proto.Key())
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	g, now := k.grant, t.engine.clock.Now()
	if g == nil || !g.IsIdleLocked() || !g.freshLocked(now) || !req.Proto.Inherits(g.proto.Mode()) ||
		k.queue != nil && !k.queue.Empty() {
		return nil
	}
	h := g.PassToLocked(req.want(), now, g.fence+1, "")
	if h != nil {
		g.fence, g.spare = g.fence+1, g.spare-1
	}
	return h
}

// clear has a grant released that is in the way of a call which does not wait for its turn, and waits for that: nobody
// holds the lock.
func (e *Engine) clear(ctx context.Context, p store.Protocol) {
	if e.keeper.isEmpty() {
		return
	}
	k := e.table.peek(p.Key())
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
