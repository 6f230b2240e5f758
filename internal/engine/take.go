package engine

import (
	"context"
	"errors"

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
	observed := e.observe(ctx, &req, false)
	err := e.take(ctx, &req)
	observed.End(err)
	return err
}

// take is a Take that begins something.
func (e *Engine) take(ctx context.Context, req *Request) error {
	if ctx.Err() != nil {
		return over(ctx, req.Proto)
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
// What is taken so cannot be found in the store by an id afterwards, as a hold can: a number went down by one, and that
// is all. So a request that is sent twice would count twice, if the store did not remember the ids of requests, and
// answer a second one with what it did at the first. It is told which ids were answered (Settled), and forgets those.
func (e *Engine) TryTake(ctx context.Context, req Request) error {
	req.Loose = true
	if !e.sender.Begin() {
		return e.refuse(req.Proto)
	}
	defer e.sender.Done()
	observed := e.observe(ctx, &req, true)
	err := e.tryTake(ctx, &req)
	observed.End(err)
	return err
}

// tryTake is a TryTake that begins something.
func (e *Engine) tryTake(ctx context.Context, req *Request) error {
	if ctx.Err() != nil {
		return over(ctx, req.Proto)
	}
	w := e.newWaiter(req, e.clock.Now(), outer{})
	w.once = true
	if !e.table.enter(w, true) {
		return e.refusedHere(w)
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
func (w *waiter) took(sent *asked) *hold.Hold {
	w.key.win(w)
	if !w.req.Looks {
		w.req.Proto.Settled(w.ID, max(sent.Late, w.attempts.Late(), w.attempts.CopyLate()))
	} else {
		w.engine().table.answerAll(w.req.Proto, sent.Since)
	}
	return nothing
}

// Change carries out a change that nobody holds, by a request that is recognised by its id: it counts once, however
// often it has to be sent. It gives up when ctx ends, and when the store has not answered for the release timeout; then
// it may have been carried out, or not.
func (e *Engine) Change(ctx context.Context, p store.Protocol, what store.Change) (store.ChangeReply, error) {
	var none store.ChangeReply
	if !e.sender.Begin() {
		return none, e.refuse(p)
	}
	defer e.sender.Done()
	if ctx.Err() != nil {
		return none, over(ctx, p)
	}
	ask := store.Ask{ID: e.newID(), Lease: e.cfg.Lease, Patience: e.cfg.ReleaseTimeout}
	var reply store.ChangeReply
	var err error
	settled := e.sender.Retry(ctx, e.clock.Now()+e.cfg.ReleaseTimeout, func() request.Next {
		reply, err = request.Call(e.sender, ctx, func(ctx context.Context) (store.ChangeReply, error) {
			return e.sendChange(ctx, p, what, &ask)
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
		return none, e.gaveUp(ctx, ctx, word{of: p})
	}
	return none, e.unserved(ctx, p, err)
}

// sendChange sends a change once. Whether it was carried out is known for certain unless the error says otherwise: a
// lost answer is asked for again, by the same id, for as long as the store remembers that. The receipt of the first
// sending fixes when it forgets the id, and so nothing is carried out that comes after it.
func (e *Engine) sendChange(
	ctx context.Context, p store.Protocol, what store.Change, ask *store.Ask,
) (reply store.ChangeReply, err error) {
	limit := e.sender.Limit(e.cfg.Lease)
	if err := e.store.Ready(ctx, limit); err != nil {
		return reply, err
	}
	var sent store.Receipt
	sending, err := e.sender.Start(crash.Change, p, limit)
	if err == nil {
		ask.Timing = sending.Timing
		reply, sent, err = p.Change(ctx, what, *ask)
	}
	sent, err = sending.End(ctx, sent, err)
	if ask.First.Late == 0 {
		ask.First = sent
	}
	if err == nil && (reply.Status == store.Done || reply.Status == store.Already) {
		p.Settled(ask.ID, max(ask.First.Late, sent.Late))
	}
	return reply, err
}
