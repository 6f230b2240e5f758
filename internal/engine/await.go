package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
)

// mayJoin lets w join the hold of another reader, and lets others join the hold of w.
//
// Readers that come while another one of their process asks the store wait for the answer to that request; see package
// localqueue. The one that asked has them join its hold before its own Lock returns, since it may unlock at once.
func (e *Engine) mayJoin(w *waiter) {
	if joins(w.req, w.under) && localqueue.AwaitTime(e.readTrip()) > 0 {
		w.Manner = localqueue.Joins
	}
}

// joins reports whether a request may be granted by a hold that lives here, or be asked for others, too.
func joins(req Request, under outer) bool {
	return req.Proto.Traits().Shares && req.Renewed && under.id == ""
}

// readTrip is how long the last request took that brought a hold which others may join; 0 if there was none.
func (e *Engine) readTrip() time.Duration { return time.Duration(e.trip.Load()) }

// awaitAnswer waits for what the store answers another reader, if that has asked already. It returns a level if w
// joined that one's hold, and an error if its wait ended; otherwise w goes on like any other.
//
// For example, sixty-four readers come within a millisecond, and a request takes half of one. The first asks. The
// others find it asking and wait; its answer comes, and all have levels of its hold: one request in place of
// sixty-four. If the answer is "busy", the others ask as they would have, half a millisecond later.
//
// The wait is bounded by a time that is derived from how long such requests take. A reader whose wait for another's
// answer is over asks for itself, so a request that hangs or is lost delays others by that time and no more.
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
		if left := e.quit(w); left.Hold {
			return w.level, nil
		}
		return nil, e.gaveUp(limited, ctx, w.req.Proto, nil, request.ErrAbandoned)
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
		o.level = grantOf(h).JoinLocked(o.req.want(), h.Fence)
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
