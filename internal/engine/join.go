package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
)

// shares lets others join g if the waiter's own request brought it and the store looked at the gate. A read inside a
// write is let in by the writer's hold, and nobody joins it. Trip is how long the request took.
//
// Readers that share a grant are decided about in package hold. What is here is when a grant may be joined at all:
// it is one that a request of this process was granted a short time ago, by the script that looks whether a writer
// waits. A renewal does not look, so it makes no grant any younger. A writer that comes to its gate just after that
// look waits for the readers that join within the time of a run, and then no more.
func (w *waiter) shares(g *Grant, trip time.Duration) {
	if joins(w.req, w.under) {
		g.engine().trip.Store(int64(trip))
		g.Share(g.since + localqueue.JoinTime(trip))
	}
}

// join lets a request come in by a grant of this process; nil if it has to ask.
func (e *Engine) join(ctx context.Context, req Request, under outer) *hold.Level {
	if !joins(req, under) {
		return nil
	}
	l := e.table.join(req)
	if l == nil || !grantOf(l.Hold()).open(ctx, l, req) {
		return nil
	}
	return l
}

// open gives a level that joined its context. If it reports false, the level is out again.
func (g *Grant) open(ctx context.Context, l *hold.Level, req Request) bool {
	h := l.Hold()
	ctx, owner := req.observed.Holds(ctx, g.id, h.Fence, h.Start())
	if l.Open(ctx, owner) {
		return true
	}
	Ended(owner, overCause(h)) // it was lost while the observer was told of it
	g.withdraw(l)
	return false
}

// withdraw takes back a level that joined. If the others were unlocked meanwhile, nobody else is left to release the
// grant.
func (g *Grant) withdraw(l *hold.Level) {
	if g.Withdraw(l) {
		g.engine().sender.Spawn(func() { // or Close is at work, and ends it
			if g.Claim() {
				_ = g.finish(l, g.engine().clock.Now())
			}
		})
	}
}

// join adds a Hold to the newest grant that may be joined, if nobody waits who would be overtaken.
func (t *table) join(req Request) *hold.Level {
	k := t.peek(req.Proto.Key())
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	g := k.newestLocked()
	if g == nil || g.proto.Mode() != req.Proto.Mode() || k.queue != nil && !k.queue.Join(req.Proto) {
		return nil
	}
	return g.JoinLocked(req.want(), g.fence)
}
