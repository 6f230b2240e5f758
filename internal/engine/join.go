package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
)

// joins reports whether a request may be granted by a hold that lives here, or be asked for others, too.
func joins(req *Request, under outer) bool {
	return req.Proto.Traits().Shares && req.Renewed && under.id == ""
}

// join lets a request come in by a grant of this process; nil if it has to ask.
func (e *Engine) join(ctx context.Context, c call, under outer) *hold.Level {
	if !joins(c.Request, under) {
		return nil
	}
	if c.observed == nil {
		return e.table.join(c.Request, hold.Within(ctx))
	}
	l := e.table.join(c.Request, hold.Entry{}) // the observer is asked for the context once it is known what is held
	if l == nil || !grantOf(l.Hold()).open(ctx, l, c) {
		return nil
	}
	return l
}

// open gives a level that joined its context. If it reports false, the level is out again.
func (g *Grant) open(ctx context.Context, l *hold.Level, c call) bool {
	h := l.Hold()
	ctx, owner := c.observed.Holds(ctx, g.id, h.Fence, h.Start())
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
				e := g.engine()
				now := e.clock.Now()
				_ = g.finish(l, now, releaseEnd(e, now))
			}
		})
	}
}

// join adds a Hold to the newest grant that may be joined, if nobody waits who would be overtaken.
func (t *table) join(req *Request, entry hold.Entry) *hold.Level {
	k := t.peek(req.Proto)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	g := k.newestLocked()
	if g == nil || g.proto.Mode() != req.Proto.Mode() || k.queue != nil && !k.queue.Join(req.Proto) {
		return nil
	}
	return g.JoinLocked(&req.Want, g.fence, entry)
}

// shares lets others join g if the waiter's own request brought it and the store looked at the gate. A read inside a
// write is let in by the writer's hold, and nobody joins it. Trip is how long the request took.
//
// Package hold decides which readers share a grant. What is here is when a grant may be joined at all: a request of
// this process was granted it a short time ago, and the script that granted it has looked whether a writer waits. A
// renewal does not look, so it makes no grant any younger. A writer that comes to its gate just after that look waits
// for the readers that join within the time of a run, and then no more.
func (w *waiter) shares(g *Grant, trip time.Duration) {
	if joins(w.req, w.under) {
		g.engine().trip.Store(int64(trip))
		g.Share(g.since + localqueue.JoinTime(trip, w.WasRefused()))
	}
}

// mayJoin lets w join the hold of another reader, and lets others join the hold of w.
//
// Readers that come while another one of their process asks the store wait for the answer to that request; see package
// localqueue. They join the hold of the reader that asked before its own Lock returns, since it may unlock at once.
func (e *Engine) mayJoin(w *waiter) {
	if joins(w.req, w.under) && localqueue.AwaitTime(e.readTrip()) > 0 {
		w.Manner = localqueue.Joins
	}
}

// readTrip is how long the last request took that brought a hold which others may join; 0 if there was none.
func (e *Engine) readTrip() time.Duration { return time.Duration(e.trip.Load()) }

// awaitAnswer waits for what the store answers another reader, if that has asked already. It returns a level if w
// joined that one's hold, and an error if its wait ended; otherwise w goes on like any other.
//
// For example, sixty-four readers come within a millisecond, and a request takes half of one. The first asks. The
// others find it asking and wait; its answer comes, and all have levels of its hold: one request in place of
// sixty-four. If the answer is "busy", the first listens and asks again, and the others wait until it has its hold.
//
// The wait for the first answer is bounded by a time that is derived from how long such requests take. A reader whose
// wait for another's answer is over asks for itself, so a request that hangs or is lost delays others by that time and
// no more. So does one whose asker got no answer.
func (e *Engine) awaitAnswer(limited, ctx context.Context, w *waiter) (*hold.Level, error) {
	if w.Manner != localqueue.Joins || w.Changed() == nil { // it asks at once
		return nil, nil
	}
	timer := time.NewTimer(localqueue.AwaitTime(e.readTrip()))
	defer timer.Stop()
	for {
		level, awaits := w.joined()
		if !awaits {
			return level, nil
		}
		select {
		case <-w.Changed():
			continue
		case <-timer.C:
			w.overdue()
			continue
		case <-limited.Done():
		case <-e.sender.Closing():
		}
		told := w.told()
		if left := e.quit(w); left.Hold {
			return w.level, nil
		}
		return nil, w.gaveUp(limited, ctx, told)
	}
}

// bring lets those join the grant of h that waited for the answer to w's request. Their levels have no contexts yet:
// each reader opens its own. The grant stands, because the caller has a level of it; if it was lost, nobody joins, and
// they ask for themselves.
func (e *Engine) bring(w *waiter, h *hold.Hold) {
	if !w.awaited {
		return
	}
	k := w.key
	k.mu.Lock()
	defer k.unlock()
	k.queueLocked().Bring(&w.Waiter, func(other *localqueue.Waiter) bool {
		o := waiterOf(other)
		o.level = grantOf(h).JoinLocked(&o.req.Want, h.Fence, hold.Entry{})
		return o.level != nil
	})
}

// joined is the level by which w joined another's hold, and reports whether it still waits for that.
func (w *waiter) joined() (level *hold.Level, awaits bool) {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	return w.level, w.Look() == localqueue.Awaiting
}

// overdue has w ask for itself, if it waits for another's answer.
func (w *waiter) overdue() {
	w.key.mu.Lock()
	defer w.key.unlock()
	w.key.queueLocked().Overdue(&w.Waiter)
}
