package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// asked is one sending of the acquire script and what came of it.
type asked struct {
	store.Receipt
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
//	no answer       whatever may have happened may still happen: released until no copy can come
//
// And if an earlier request of the same id had no answer either, the last row holds whatever this one says.
func (e *Engine) ask(ctx context.Context, w *waiter) asked {
	req, ask := w.req, w.nextAsk()
	if ctx.Done() == nil && !e.sender.Closed() { // nothing can end it early
		return e.sendAcquire(ctx, crash.Acquire, req, ask)
	}
	return e.askUntil(ctx, crash.Acquire, w, ask)
}

// askUntil is ask with a context that can end.
func (e *Engine) askUntil(ctx context.Context, x crash.Exchange, w *waiter, ask store.Ask) asked {
	req, before := w.req, w.attempts
	send := func(ctx context.Context) (asked, error) {
		sent := e.sendAcquire(ctx, x, req, ask)
		return sent, sent.err
	}
	sent, err := request.Call(e.sender, ctx, send, func(sent asked, err error) { e.cleanUp(w, before, ask, sent, err) })
	sent.err = err
	return sent
}

// cleanUp cleans up after a request whose caller has left, when its answer is there or cannot come any more: see ask.
// Before is what was unknown of the waiter's requests when it was sent.
func (e *Engine) cleanUp(w *waiter, before request.Attempts, ask store.Ask, sent asked, err error) {
	after := before.After(sent.Receipt, err)
	if !ask.Once && (after.InDoubt() || sent.reply.Lapsed) {
		e.lapsed(w)
	}
	switch {
	case after.InDoubt(), sent.reply.Status == store.Held, sent.reply.Status == store.Already:
		e.disown(w.req, ask.ID, after.Late(), 0)
	case w.req.lasts() && !ask.Once:
		e.disown(w.req, ask.ID, max(after.Late(), sent.Late), 0)
	}
}

// disown has the store release what may stand there for an id of which nobody here knows that it holds, until no
// request for it can come late. A request for it has had no answer for a time.
func (e *Engine) disown(req Request, id string, late store.Late, silent time.Duration) {
	if !req.Looks { // which only looks
		e.sender.Disown(request.Disowned{
			Proto: req.Proto, ID: id, Lease: req.Lease, Late: late, Silent: silent,
		})
	}
}

// sendAcquire sends the script once. Before that the store learns what it must know of the node (its clock, whether
// it is a primary), within the same time limit; usually it knows.
func (e *Engine) sendAcquire(ctx context.Context, x crash.Exchange, req Request, ask store.Ask) (sent asked) {
	p, limit := req.Proto, e.sender.Limit(req.Lease)
	began := e.clock.Now()
	if sent.err = e.store.Ready(ctx, limit); sent.err != nil {
		e.sender.Noted(request.Event{Of: p, Node: e.node(p.Key()), Sent: began, Err: sent.err})
		return sent
	}
	take := func(when store.Timing) (receipt store.Receipt, err error) {
		ask.Timing = when
		sent.reply, receipt, err = p.Acquire(ctx, ask)
		return receipt, err
	}
	sent.Receipt, sent.err = e.sender.Send(ctx, x, p, limit, take)
	return sent
}
