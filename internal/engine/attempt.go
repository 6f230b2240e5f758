package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// asked is one sending of the acquire script and what came of it. It is handed on by its address: by value, through
// eight functions, it took 3.6 KB of the stack of every goroutine that locks.
type asked struct {
	ask store.Ask
	outcome
	reply store.AcquireReply
}

// outcome is what came of a sending, beside the reply.
type outcome struct {
	store.Receipt
	err error
}

// turned reports that the waiter has nothing to wait for in this queue: another member of its set is busy, or the locks
// of the set are not together on one node any more.
func turned(err error) bool {
	var other elsewhere
	return errors.As(err, &other) || errors.Is(err, store.ErrApart)
}

// attempt asks the store once. Without a hold and without an error the lock is busy, for as long as is returned at
// most.
//
// "Already" is the answer to a request of which a copy was carried out before: one whose answer was lost, or one that
// was refused and doubled by the network. The hold is this caller's, but its lease began earlier than this request was
// sent; granted counts its validity from the first request that may have begun it.
func (w *waiter) attempt(ctx context.Context) (*hold.Hold, time.Duration, error) {
	if w.lockSet != nil {
		return w.attemptAll(ctx)
	}
	return w.settle(w.engine().ask(ctx, w))
}

// settle does what follows from what came of an attempt.
func (w *waiter) settle(sent *asked) (*hold.Hold, time.Duration, error) {
	if sent.err != nil {
		w.unanswered(sent.outcome)
		return nil, 0, sent.err
	}
	w.last = nil
	w.noteLapse(sent.reply)
	if sent.reply.Status == store.Busy {
		w.why = sent.reply.Why
		w.attempts.Refused(sent.Receipt, w.engine().span(w.req))
		w.noteBusy()
		w.placed(sent.reply)
		w.alsoOn = sent.reply.Also
		w.pollIn = sent.reply.Poll
		w.recalls(sent.reply.Recalled, 0)
		w.noteStranger()
		return nil, sent.reply.PTTL, nil
	}
	h, err := w.granted(sent)
	return h, 0, err
}

// recalls notes whether the client that has what one of the waiter's requests wants was told that it waits.
func (w *waiter) recalls(told bool, which int) {
	w.recalled = 0
	if told {
		w.recalled = int32(which) + 1
	}
}

// noteStranger notes that a name which this process keeps, or would keep, is taken by a client that does not keep it.
func (w *waiter) noteStranger() {
	if e := w.engine(); w.recalled == 0 && (w.req.Keep > 0 || w.req.Unkept) {
		e.keeper.taken(w.req.Proto.Key(), e.clock.Now())
	}
}

// span is how long after its sending what a request took is over. It is carried out within its limit, by an estimate of
// the server's clock that is off by less than that.
func (e *Engine) span(req *Request) time.Duration { return req.Lease + 2*e.sender.Limit(req.Lease) }

// unanswered notes what an attempt without an answer leaves unknown.
//
// There are three cases. The request was certainly not sent, or the store refused it as a whole: nothing is unknown. It
// may have been carried out: that is added to the doubt, with its receipt. The caller's context ended while it was
// under way: then the goroutine that still waits for the answer cleans up after this request and after all earlier
// ones, for it alone will know what came of the last (see ask), and nothing is left to do here.
func (w *waiter) unanswered(sent outcome) {
	// What the store said last says more than that nothing was sent any more.
	if w.last == nil || !errors.Is(sent.err, store.ErrUnsent) && !errors.Is(sent.err, request.ErrAbandoned) {
		w.last = sent.err
	}
	switch {
	case errors.Is(sent.err, request.ErrAbandoned):
		w.attempts.HandOver() // the goroutine that gets the late reply cleans up after all of it
		w.mayHaveLapsed = false
	case store.FaultOf(sent.err) == store.FaultAmbiguous, store.Denied(sent.err):
		// An ACL may forbid what comes after the first write.
		w.attempts.Lost(sent.Receipt)
		w.mayHaveLapsed = !w.once
	}
}

// noteLapse has the others registered again if an attempt was told that the store had given up this process, or may
// have been.
func (w *waiter) noteLapse(reply store.AcquireReply) {
	if reply.Lapsed || w.mayHaveLapsed {
		w.mayHaveLapsed = false
		w.engine().lapsed(w)
	}
}

// granted lists the grant, unless its lease is as good as over.
//
// Start is when the lease may have begun at the earliest. For example, with a lease of 3 s: a first request was sent at
// 10.0 s and its answer was lost; the second, sent at 10.9 s, is answered "already". The store may have carried out the
// first at 10.0 s, so the hold is valid until 12.958 s and not 13.858 s. Nor does it count for longer than the rest of
// the lease that the answer tells: a commit may wait for longer than a lease, which does not run out meanwhile if the
// server's clock is set back.
//
// If the process stood still in between so that this instant has passed, the hold is of no use: it is given up, and the
// waiter asks under a new id. It comes in again like one whose hold was over before it was attached, with no ticket:
// the grant took its place out of the store's queue. A waiter that names a ticket and finds that queue empty says that
// the store has lost it, and so has to wait for others to come back.
//
// A grant is listed before anybody is told of it. Close looks for grants after it has closed the sender; so either
// Close finds this one, or the sender is found closed here and the grant is given to the ledger.
func (w *waiter) granted(sent *asked) (*hold.Hold, error) {
	e := w.engine()
	if w.req.Loose {
		return w.took(sent), nil
	}
	start := sent.Since
	if sent.reply.Status == store.Already {
		start = w.attempts.SinceAny(start)
		if rest := sent.reply.PTTL; rest > 0 {
			start = min(start, sent.Since+rest-w.req.Lease)
		}
	}
	if e.clock.Now() >= hold.ValidUntil(start, w.req.Lease) {
		w.attempts.Lost(store.Receipt{Since: start, Late: sent.Late})
		w.renounce()
		w.setTicket(0)
		e.table.say(w.req.Proto, localqueue.Said{Spoke: true, Err: opaque{errStale}})
		return nil, opaque{errStale}
	}
	g, h := w.won(sent, start)
	if e.sender.Closed() {
		g.disown() // Close may have looked for grants before this one was listed
		return nil, store.ErrUnsent
	}
	return h, nil
}

// won makes what the store granted to the waiter that asked a grant of this process: with a token of the range, and
// with what the answer says of those that stand next in the store's queue. Its lease may have begun at start.
func (w *waiter) won(sent *asked, start time.Duration) (*Grant, *hold.Hold) {
	e := w.engine()
	k := e.table.lockAlone(w.req.Proto, w.under.id) // where w asks, which keeps it alive
	defer k.unlock()
	late := w.attempts.Late()
	if w.Registers() {
		late = max(late, store.Late(w.Late()))
	}
	now, q := e.clock.Now(), k.queueLocked()
	g, h := e.newGrantLocked(k, w.req, w.ID, sent.reply.Fence, start, late)
	w.shares(g, now-sent.Since)
	q.Took(now - sent.Since)
	if g.kept != nil {
		g.kept.wanted = w.wanted
	}
	if (g.kept != nil || q.Followed(&w.Waiter)) && w.req.Proto.Traits().Passes {
		g.lendLocked(h, sent.reply.Spare)
	}
	if sent.reply.Inside {
		g.withinLocked(h, w.under)
	}
	k.winLocked(w, g)
	if w.Registers() {
		q.Stands(sent.reply.Next, sent.Since)
		if sent.reply.Swapped {
			q.Swapped()
		}
	}
	return g, h
}

// renounce gives up the id if it may stand for a hold by now, or may do so later, of which this process does not know.
// The ledger releases it until no copy of any of its requests can be carried out any more. From here on the waiter
// has another id, so what the ledger releases can never be a hold that this waiter is granted.
//
// What could happen without it: a waiter's request hangs in a broken connection; its caller's context ends; the call
// returns; the connection is repaired, and the request takes the lock, under an id that nobody knows any more. Others
// would wait for a whole lease for a holder that does not exist.
func (w *waiter) renounce() {
	if w.attempts.InDoubt() {
		late := max(w.attempts.Late(), w.attempts.CopyLate(), w.entering())
		silent := w.attempts.Silence(w.engine().clock.Now())
		for _, req := range w.all() {
			w.engine().disown(req, w.ID, late, silent)
		}
		w.attempts = request.Attempts{}
		w.rename(w.engine().idFor(w.req))
	}
}

// all are the requests that the waiter stands for.
func (w *waiter) all() []*Request {
	if w.lockSet != nil {
		return w.lockSet.reqs
	}
	return []*Request{w.req}
}

// isShortfall reports that too few replicas confirmed what was done: it was done on the primary.
func isShortfall(err error) bool {
	var s *store.ShortfallError
	return errors.As(err, &s)
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
func (e *Engine) ask(ctx context.Context, w *waiter) *asked {
	sent := w.nextAsk()
	if ctx.Done() == nil && !e.sender.Closed() { // nothing can end it early
		e.sendAcquire(ctx, crash.Acquire, w, sent)
		return sent
	}
	return e.askUntil(ctx, crash.Acquire, w, sent)
}

// askUntil is ask with a context that can end. If it ends, sent belongs to the goroutine that gets the late answer, and
// the caller is given another asked.
func (e *Engine) askUntil(ctx context.Context, x crash.Exchange, w *waiter, sent *asked) *asked {
	before := w.attempts
	send := func(ctx context.Context) (*asked, error) {
		e.sendAcquire(ctx, x, w, sent)
		return sent, sent.err
	}
	got, err := request.Call(e.sender, ctx, send, func(sent *asked, err error) {
		e.sayLate([]*Request{w.req}, err)
		e.cleanUp(w, before, sent)
	})
	if got == nil {
		return &asked{outcome: outcome{err: err}}
	}
	return got
}

// cleanUp cleans up after a request whose caller has left, when its answer is there or cannot come any more: see ask.
// Before is what was unknown of the waiter's requests when it was sent.
func (e *Engine) cleanUp(w *waiter, before request.Attempts, sent *asked) {
	after, id, once := before.After(sent.Receipt, sent.err), sent.ask.ID, sent.ask.Once
	if sent.reply.Status == store.Held || sent.reply.Status == store.Already {
		e.table.say(w.req.Proto, localqueue.Said{Spoke: true})
	}
	if !once && (after.InDoubt() || sent.reply.Lapsed) {
		e.lapsed(w)
	}
	switch {
	case after.InDoubt(), sent.reply.Status == store.Held, sent.reply.Status == store.Already:
		e.disown(w.req, id, after.Late(), 0)
	case w.req.lasts() && !once:
		e.disown(w.req, id, max(after.Late(), sent.Late), 0)
	}
}

// disown has the store release what may stand there for an id of which nobody here knows that it holds, until no
// request for it can come late. A request for it has had no answer for a time.
func (e *Engine) disown(req *Request, id string, late store.Late, silent time.Duration) {
	if !req.Looks { // which only looks
		e.sender.Disown(request.Disowned{
			Proto: req.Proto, ID: id, Lease: req.Lease, Late: late, Silent: silent,
		})
	}
}

// sendAcquire sends the script once. Before that the store learns what it must know of the node (its clock, whether
// it is a primary), within the same time limit; usually it knows.
func (e *Engine) sendAcquire(ctx context.Context, x crash.Exchange, w *waiter, sent *asked) {
	p, limit := w.req.Proto, e.sender.Limit(w.req.Lease)
	began := e.clock.Now()
	if sent.err = e.store.Ready(ctx, limit); sent.err != nil {
		e.sender.Noted(request.Event{Of: p, Node: e.node(p.Key()), Sent: began, Err: sent.err})
	} else {
		sending, err := e.sender.Start(x, p, limit)
		if err == nil {
			sent.ask.Timing = sending.Timing
			sent.reply, sent.Receipt, err = p.Acquire(ctx, &sent.ask)
		}
		sent.Receipt, sent.err = sending.End(ctx, sent.Receipt, err)
	}
	e.sayOf(p, sent.reply, sent.err, e.failure(ctx, sent.err, e.clock.Now()-began, limit))
}
