package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Take waits in the queue like Lock, for something that is nobody's once it was taken: a number that went
// down, an event that happened. There is no hold, no lease and no context. An attempt that was given up
// is undone by the protocol's Release.
func (e *Engine) Take(ctx context.Context, req Request) error {
	req.Loose = true
	if !e.sender.Begin() {
		return e.refuse(req.Proto)
	}
	defer e.sender.Done()
	told := e.tell(ctx, req, false)
	err := e.take(ctx, req)
	told.End(err)
	return err
}

// take is a Take that begins something.
func (e *Engine) take(ctx context.Context, req Request) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	limited, cancel := req.limited(ctx)
	defer cancel()
	w := e.newWaiter(req, e.clock.Now(), outer{})
	e.table.enter(w, false)
	_, err := e.waitTurn(limited, ctx, w)
	return err
}

// TryTake makes one attempt. It is repeated only if its reply was lost.
//
// What is taken so cannot be found in Redis by an id afterwards, as a hold can: a number went down by one, and that is
// all. So a request that is sent twice would count twice, if Redis did not remember. It remembers each request's id
// until its not-after, and answers a second one with what it did at the first. With its next request for the key
// the engine says which ids were answered (Settled), and Redis forgets those.
func (e *Engine) TryTake(ctx context.Context, req Request) error {
	req.Loose = true
	if !e.sender.Begin() {
		return e.refuse(req.Proto)
	}
	defer e.sender.Done()
	told := e.tell(ctx, req, true)
	err := e.tryTake(ctx, req)
	told.End(err)
	return err
}

// tryTake is a TryTake that begins something.
func (e *Engine) tryTake(ctx context.Context, req Request) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	w := e.newWaiter(req, e.clock.Now(), outer{})
	w.once = true
	if !e.table.enter(w, true) {
		return e.busy(req.Proto, nil)
	}
	limited, cancel := req.limited(ctx)
	defer cancel()
	_, err := e.try(limited, ctx, w)
	return err
}

// nothing is what a request comes to that leaves no hold. It ends the waiter's turn in the queue as a Hold would, and
// is listed nowhere.
var nothing = &hold.Hold{}

// took ends the wait of a request that leaves no hold. If it only looked, what it saw is the answer to
// all that stood in the queue when it was sent.
func (w *waiter) took(sent asked) *hold.Hold {
	w.key.win(w)
	if !w.req.Shared {
		w.engine().sender.Answered(w.req.Proto.Key(), store.Settled{
			ID: w.ID, NotAfter: max(sent.NotAfter, w.attempts.Late(), w.attempts.CopyLate()),
		})
	} else {
		w.engine().table.share(w.req.Proto, sent.Start)
	}
	return nothing
}

// Once carries out a change that nobody holds, by a request that is recognised by its id: it counts once, however often
// it has to be sent. It gives up when ctx ends, and when Redis has not answered for the release timeout; then it may
// have been carried out, or not.
func (e *Engine) Once(ctx context.Context, p store.Protocol, what store.Change) (store.ChangeReply, error) {
	var none store.ChangeReply
	if !e.sender.Begin() {
		return none, e.refuse(p)
	}
	defer e.sender.Done()
	if ctx.Err() != nil {
		return none, contextError(ctx)
	}
	c := change{Change: what, id: e.newID()}
	var reply store.ChangeReply
	var err error
	settled := e.sender.Retry(ctx, e.clock.Now()+e.cfg.ReleaseTimeout, func() request.Next {
		reply, err = request.Call(e.sender, ctx, func(ctx context.Context) (store.ChangeReply, error) {
			return e.sendOnce(ctx, p, &c)
		}, func(store.ChangeReply, error) {})
		switch kind := store.FaultOf(err); {
		case kind == store.FaultNone, errors.Is(err, request.ErrAbandoned):
			return request.Settled
		case kind == store.FaultDefinite, kind == store.FaultConflict:
			return request.GiveUp
		}
		return request.Later
	})
	switch {
	case settled && err == nil:
		return reply, nil
	case settled:
		return none, e.gaveUp(ctx, ctx, p, nil, nil)
	}
	return none, e.ended(ctx, p, err)
}

// change is one call of Once. Whether it was carried out is known for certain unless the error says otherwise: a lost
// answer is asked for again, by the same id, for as long as Redis remembers that. For example, with a release
// timeout of 5 s: the first sending at 10 s has a not-after of about 11 s by the server's clock, and Redis
// remembers the id until 16 s. No sending has a later not-after than that, so none is carried out after the id was
// forgotten. A process that is stopped for a minute in between sends a request that is refused, and tells its
// caller that the outcome is unknown.
type change struct {
	store.Change
	id       string
	notAfter int64 // of its last sending, in server time in µs
	until    int64 // beyond which none goes; 0: not known yet
}

// deadline is the not-after of the next sending. However long this process was stopped in between, it is
// no later than Redis remembers the first one: a call whose fate is unknown is refused then, rather than
// carried out twice.
//
// The two instants are both the server's: not-after is until when one sending may be carried out, and until is when
// Redis forgets the id. The second is fixed by the first sending, since Redis may have carried that one out.
func (c *change) deadline(notAfter int64, patience time.Duration) int64 {
	if c.until == 0 && notAfter > 0 {
		c.until = notAfter + patience.Microseconds()
	}
	c.notAfter = max(c.notAfter, min(notAfter, c.until))
	return min(notAfter, c.until)
}

// sendOnce sends a change once. The ids that it says were answered are taken out of their list before it is sent,
// so that two requests do not both carry them; if it fails, they are put back.
func (e *Engine) sendOnce(ctx context.Context, p store.Protocol, c *change) (reply store.ChangeReply, err error) {
	limit := e.sender.Limit(e.cfg.Lease)
	if err := e.store.Ready(ctx, limit); err != nil {
		return reply, err
	}
	ask := store.Ask{ID: c.id, Lease: e.cfg.Lease, Settled: e.sender.TakeAnswered(p.Key())}
	send := func(ctx context.Context, notAfter int64) (_ request.Answer, err error) {
		ask.NotAfter = c.deadline(notAfter, e.cfg.ReleaseTimeout)
		ask.Until = c.until
		reply, err = p.Change(ctx, c.Change, ask)
		return request.Answer{Late: reply.Status == store.Late, Now: reply.Now}, err
	}
	_, err = e.sender.Send(ctx, crash.Once, p, limit, send)
	if err != nil || reply.Status != store.Done {
		e.sender.Answered(p.Key(), ask.Settled...) // to be said again
	}
	if err == nil && (reply.Status == store.Done || reply.Status == store.Already) {
		e.sender.Answered(p.Key(), store.Settled{ID: c.id, NotAfter: c.notAfter})
	}
	return reply, err
}
