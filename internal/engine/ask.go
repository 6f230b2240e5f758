package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// doubt is what is unknown about a hold id: since when a request for it may have been carried out
// without our knowing, and until which server time one may still be.
type doubt struct {
	since    time.Duration
	notAfter int64
	any      bool
}

// add notes one more request without an answer. The earliest sending counts for when a lease may have begun, and the
// latest not-after for when the last copy can come. For example, of two requests sent at 5 s and 7 s with not-afters of
// 6.5 s and 8.5 s by the server's clock, the hold may be one whose lease began at 5 s, and the id can be forgotten
// after 8.5 s.
func (d *doubt) add(start time.Duration, notAfter int64) {
	if !d.any {
		d.since, d.any = start, true
	}
	d.notAfter = max(d.notAfter, notAfter)
}

// denial is the last request of an id that Redis refused. That it was refused is certain. But networks double requests,
// and a copy that arrives later, when the lock has become free, is granted. Such a copy is recognised by the id: the
// next request is answered "already". If there is no next request, what the copy took ends with its lease. What has
// none, and the marks of waiters, are taken away (leaveRedis).
type denial struct {
	start    time.Duration // when it was sent
	notAfter int64         // until when a copy may be carried out, in server time in µs; 0: there was none
}

// since is when the lease of a hold may have begun that Redis says was there already when it was asked at
// start: a copy of the request that was refused last may have taken it.
func (r denial) since(start time.Duration) time.Duration {
	if r.notAfter == 0 {
		return start
	}
	return min(start, r.start)
}

// asked is one sending of the acquire script and what came of it.
type asked struct {
	request.Sent
	reply store.AcquireReply
	err   error
}

// ask sends the acquire script. If the caller's context ends while the request is under way, the caller returns at
// once. The goroutine that sent it stays until the answer, or its time limit, and then cleans up: it releases what
// was granted, and what an earlier request for the same id may still take.
//
// Caller and sender part by the call's own state (request.Call), so exactly one of them cleans up: either the caller
// takes the answer, or it is told ErrAbandoned and does nothing more about this id.
//
// What a late answer leaves to do, by what it says:
//
//	held, already   the id is released: its caller has gone
//	busy            nothing was taken, and nothing is to be done
//	busy, and it may leave a mark (a gate, a place) or take what no lease ends: released until no copy can come
//	no answer       whatever may have happened may still happen: released until the not-after has passed
//
// And if an earlier request of the same id had no answer either, the last row holds whatever this one says.
func (e *Engine) ask(ctx context.Context, w *waiter, before doubt) asked {
	req, ask := w.req, w.nextAsk()
	if ctx.Done() == nil && !e.sender.Closed() { // nothing can end it early
		return e.sendAcquire(ctx, req, ask)
	}
	return e.askUntil(ctx, w, ask, before)
}

// askUntil is ask with a context that can end.
func (e *Engine) askUntil(ctx context.Context, w *waiter, ask store.Ask, before doubt) asked {
	req := w.req
	send := func(ctx context.Context) (asked, error) {
		sent := e.sendAcquire(ctx, req, ask)
		return sent, sent.err
	}
	sent, err := request.Call(e.sender, ctx, send, func(sent asked, err error) {
		after := before
		if store.FaultOf(err) == store.FaultAmbiguous {
			after.add(sent.Start, sent.NotAfter)
		}
		if !ask.Once && (after.any || sent.reply.Lapsed) {
			e.lapsed(w)
		}
		switch {
		case after.any, sent.reply.Status == store.Held, sent.reply.Status == store.Already:
			e.undo(req, ask.ID, after.notAfter)
		case req.lasts() && !ask.Once:
			e.undo(req, ask.ID, max(after.notAfter, sent.NotAfter))
		}
	})
	sent.err = err
	return sent
}

// undo has Redis take back what may stand there for an id of which nobody here knows that it holds.
func (e *Engine) undo(req Request, id string, notAfter int64) {
	e.undoSince(e.clock.Now(), req, id, notAfter)
}

// undoSince is undo where the store has not answered since an instant.
func (e *Engine) undoSince(since time.Duration, req Request, id string, notAfter int64) {
	if !req.Shared { // which only looks
		e.sender.Resume(since, request.Orphan{Proto: req.Proto, ID: id, NotAfter: notAfter}, req.Lease)
	}
}

// sendAcquire sends the script once. Before that the store learns what it must know of the node (its clock, whether
// it is a primary), within the same time limit; usually it knows.
func (e *Engine) sendAcquire(ctx context.Context, req Request, ask store.Ask) (sent asked) {
	p, limit := req.Proto, e.sender.Limit(req.Lease)
	began := e.clock.Now()
	if sent.err = e.store.Ready(ctx, limit); sent.err != nil {
		e.sender.Noted(request.Event{Of: p, Node: e.node(p.Key()), Sent: began, Err: sent.err})
		return sent
	}
	if req.Loose && !req.Shared {
		ask.Settled = e.sender.TakeAnswered(p.Key())
	}
	take := func(ctx context.Context, notAfter int64) (now int64, err error) {
		ask.NotAfter = notAfter
		sent.reply, err = p.Acquire(ctx, ask)
		return sent.reply.Now, err
	}
	sent.Sent, sent.err = e.sender.Send(ctx, crash.Acquire, p, limit, take)
	if sent.err != nil || sent.reply.Status != store.Held {
		e.sender.Answered(p.Key(), ask.Settled...) // to be said again
	}
	return sent
}
