package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// portionOf is what a hold that the store granted is a portion of, with a run that begins.
func portionOf(p store.Protocol) *localqueue.Portion {
	if n := p.Traits().Portion; n > 0 {
		return &localqueue.Portion{Size: n}
	}
	return nil
}

// turn is the next step of a waiter that asks: it sends a request, unless it was given a hold, or another has asked the
// same and nothing was heard since.
//
// Where any number may ask at a time, what one of them was told is of use to the others. A semaphore of four
// permits with sixty waiters of one process would otherwise cause sixty requests for each permit that is returned.
// Waiters that want different numbers learn nothing from one another: three permits may be too many where one is
// not.
func (w *waiter) turn(ctx context.Context) (*hold.Hold, time.Duration, error) {
	if w.Size == 0 {
		return w.attempt(ctx)
	}
	var heard store.Heard // none, without a subscription: then everything may have been missed
	if w.ticket != nil {
		heard = w.ticket.Heard()
	}
	h, pttl, sends := w.requests(localqueue.Heard(heard))
	switch {
	case h != nil:
		return h, 0, nil
	case !sends:
		w.busy, w.roused = true, w.Changed()
		return nil, pttl, nil
	}
	h, pttl, err := w.attempt(ctx)
	if h == nil && err == nil && !w.attempts.InDoubt() {
		e := w.engine()
		until := e.clock.Now() + min(pttl+time.Millisecond, e.cfg.MaxPoll)
		if w.why != nil {
			until = 0
		}
		w.rests(localqueue.Heard(heard), until)
		w.roused = w.Changed() // others set it no more
	}
	return h, pttl, err
}

// requests has w be asking the store from now on, unless it was given a hold, or need not ask. It need not ask if
// another waiter that wanted as much was refused, and nothing was heard on the channel since: the store would refuse it
// as well. For example, sixty callers that want one permit each and find none free send one request and not sixty; when
// a permit is returned elsewhere, the first of them asks.
func (w *waiter) requests(heard localqueue.Heard) (h *hold.Hold, wait time.Duration, sends bool) {
	w.key.mu.Lock()
	defer w.key.unlock()
	if w.Look() == localqueue.Granted {
		return w.hold, 0, false
	}
	wait, sends = w.key.queueLocked().Request(&w.Waiter, heard, w.key.table.engine.clock.Now())
	return nil, wait, sends
}

// rests notes that w was refused, and that no request of its own is under way: from now on a portion may be passed
// to it in memory. With a request under way that must not be, for it could be granted another one besides.
func (w *waiter) rests(heard localqueue.Heard, until time.Duration) {
	w.key.mu.Lock()
	defer w.key.unlock()
	w.key.queueLocked().Rest(&w.Waiter, heard, until)
}

// given takes away the place that a copy of a request may still make in the store's queue, which was refused to w
// before it was given a hold under another id. The release of that hold takes away the place that w has now; so this
// can wait until no copy comes any more.
func (e *Engine) given(w *waiter, h *hold.Hold) *hold.Hold {
	if until := w.attempts.CopyLate(); w.Registers() && until > 0 && grantOf(h).id != w.ID {
		p := w.req.Proto
		e.sender.Disown(request.Disowned{
			Proto: p, ID: w.ID, Lease: w.req.Lease, Late: until, Wait: e.store.Late(p.Key(), until),
		})
	}
	return h
}
