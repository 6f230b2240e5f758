package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

// doubt is what is unknown about a hold id: since when a request for it may have been carried out
// without our knowing, and until which server time one may still be.
type doubt struct {
	since    time.Duration
	notAfter int64
	any      bool
}

func (d *doubt) add(start time.Duration, notAfter int64) {
	if !d.any {
		d.since, d.any = start, true
	}
	d.notAfter = max(d.notAfter, notAfter)
}

// asked is one sending of the acquire script and what came of it.
type asked struct {
	start    time.Duration
	notAfter int64
	reply    store.AcquireReply
	err      error
}

// ask sends the acquire script. A reply that nobody waits for any more is cleaned up after: what it
// granted is released, and so is what an earlier request for the same id may still bring about.
func (e *Engine) ask(ctx context.Context, w *waiter, before doubt) asked {
	req, ask := w.req, e.table.nextAsk(w)
	if ctx.Done() == nil && !e.isClosed() { // nothing can end it early
		return e.sendAcquire(ctx, req, ask)
	}
	return e.askUntil(ctx, req, ask, before)
}

// askUntil is ask with a context that can end.
func (e *Engine) askUntil(ctx context.Context, req Request, ask store.Ask, before doubt) asked {
	send := func(ctx context.Context) (asked, error) {
		sent := e.sendAcquire(ctx, req, ask)
		return sent, sent.err
	}
	sent, err := call(e, ctx, send, func(sent asked, err error) {
		after := before
		if store.FaultOf(err) == store.FaultAmbiguous {
			after.add(sent.start, sent.notAfter)
		}
		switch {
		case after.any, sent.reply.Status == store.Held, sent.reply.Status == store.Already:
			e.undo(req, ask.ID, after.notAfter)
		case req.Proto.Traits().Marks && !ask.Once:
			e.undo(req, ask.ID, max(after.notAfter, sent.notAfter))
		case err == nil && sent.reply.Status == store.Busy:
			e.withdraw(req, ask.ID, sent.notAfter)
		}
	})
	sent.err = err
	return sent
}

// undo has Redis take back what may stand there for an id that nobody believes in.
func (e *Engine) undo(req Request, id string, notAfter int64) {
	if !req.Shared { // which only looks
		e.reclaim.add(req.Proto, id, req.Lease, notAfter)
	}
}

func (e *Engine) sendAcquire(ctx context.Context, req Request, ask store.Ask) (sent asked) {
	p, limit := req.Proto, e.limit(req.Lease)
	if sent.err = e.ready(ctx, limit); sent.err != nil {
		return sent
	}
	node := e.node(p.Key())
	sent.start = e.clock.Now()
	sent.notAfter = e.clocks.NotAfter(node, sent.start, limit)
	ask.NotAfter = sent.notAfter
	if req.Loose && !req.Shared {
		ask.Settled = e.settled.take(p.Key())
	}
	sent.err = exchange(crash.Acquire, func() (err error) {
		sent.reply, err = p.Acquire(e.within(ctx, limit), ask)
		return err
	})
	e.clocks.Observe(node, sent.start, e.clock.Now(), sent.reply.Now)
	if sent.err != nil || sent.reply.Status != store.Held {
		e.settled.add(p.Key(), ask.Settled...) // to be said again
	}
	return sent
}
