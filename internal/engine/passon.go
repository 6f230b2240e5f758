package engine

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

var background = context.Background()

// passOn gives a hold that its owner is done with to the next local waiter, or releases it in Redis.
// A target that left while the hand-off was under way is passed by: its hold goes to the next.
func (e *Engine) passOn(h *Hold, end time.Duration) error {
	var outcome error
	for first := true; ; first = false {
		w, runOver := e.table.offer(h)
		if w != nil && e.sender.Closed() {
			e.table.recall(w, w.ID)
			w = nil
		}
		if w == nil {
			err := e.releaseIn(h, end, runOver, true)
			if first {
				return err
			}
			h.sweep()
			return outcome
		}
		id := w.ID // while it is offered, nobody else gives it another one
		next, err := e.handoff(h, w, end)
		if e.table.desertedBy(w) && w.req.Proto.Traits().Marks {
			defer e.undo(w.req, id, 0) // when the hold that it may be has been passed on or released
		}
		if first {
			outcome = err
		} else {
			h.sweep()
		}
		if next == nil {
			return outcome
		}
		h = next
	}
}

// handoff turns h into a hold of w, by itself or by one script. It returns a hold only if that has to be passed on,
// because w left. Until the outcome is known nothing else is tried: with another target, the first one
// could end up holding without anybody knowing.
func (e *Engine) handoff(h *Hold, w *waiter, end time.Duration) (*Hold, error) {
	if next := h.successor(h.turnOf(w)); next != nil {
		return e.handed(h, w, next), nil
	}
	if w.req.Proto.Traits().Unscripted {
		return nil, e.unpassed(h, w, end)
	}
	limit, start := e.sender.Limit(w.req.Lease), e.clock.Now()
	id := w.ID
	var unsure doubt
	var reply store.HandoffReply
	var err error
	settled := e.sender.Retry(background, end, func() request.Next {
		var notAfter int64
		reply, notAfter, err = e.sendHandoff(e.by(end), h, w.req, id, min(limit, end-e.clock.Now()))
		switch kind := store.FaultOf(err); {
		case isShortfall(err):
			return request.Settled
		case kind == store.FaultNone && reply.Status == store.Late:
			err = opaque{errClock}
			return request.AtOnce
		case kind == store.FaultNone, kind == store.FaultDefinite, kind == store.FaultConflict:
			return request.Settled
		case kind == store.FaultAmbiguous:
			unsure.add(start, notAfter)
		case !unsure.any:
			return request.Settled // it was not sent
		}
		return request.Later
	})
	switch {
	case !settled:
		return nil, e.unsettled(h, w, id, unsure, err)
	case isShortfall(err):
		e.refused(h, w, id, unsure, err)
		return nil, nil
	case err != nil:
		return nil, e.plainly(h, w, id, unsure, end)
	case reply.Status == store.Done || reply.Status == store.Already:
		next := e.newHold(w.req, id, reply.Fence, start, 0)
		next.lend(w, reply.Spare, e.clock.Now()-start)
		return e.handed(h, w, next), nil
	}
	return nil, e.vanished(h, w, unsure)
}

func (e *Engine) sendHandoff(
	ctx context.Context, h *Hold, req Request, id string, limit time.Duration,
) (reply store.HandoffReply, notAfter int64, err error) {
	era := e.sender.Era()
	pass := func(ctx context.Context, notAfter int64) (now int64, err error) {
		reply, err = req.Proto.Handoff(ctx, h.id(), store.Ask{ID: id, Lease: req.Lease, NotAfter: notAfter})
		return reply.Now, err
	}
	sent, err := e.sender.Send(ctx, crash.Handoff, h.proto.Key(), limit, pass)
	if reply.Status == store.Done || reply.Status == store.Already {
		e.sender.Ended(era, h.proto, h.id())
	}
	return reply, sent.NotAfter, err
}

// handed gives the target its hold, and returns that if the target left. A late copy of the hand-off can do
// nothing any more, because it needs the hold that is gone.
func (e *Engine) handed(from *Hold, w *waiter, next *Hold) *Hold {
	left := !e.table.grant(from, w, next)
	if left {
		e.given(w, next)
	}
	if e.sender.Closed() {
		next.orphan() // Close may have looked for holds before this one was listed
		return nil
	}
	if !left {
		if next.number != from.number {
			runtime.Gosched() // the lock is its turn's, and this goroutine has nothing that is as urgent
		}
		return nil
	}
	if !next.Claim() {
		return nil
	}
	e.watchdog.Stop(&next.Lease)
	return next
}

// vanished settles a hand-off that found neither hold. That is a loss if the first request found it
// so; after one whose fate is unknown it may be its own work, undone by somebody else's hand.
func (e *Engine) vanished(h *Hold, w *waiter, unsure doubt) error {
	var err error
	if !unsure.any {
		err = e.lostError(h.proto, hold.Gone, nil)
		e.events.lost(err)
	}
	e.table.recall(w, w.ID)
	e.table.drop(h, 0)
	return err
}

// plainly releases after Redis refused the hand-off. If an earlier request for it may have run, the
// target's id is given up as well.
func (e *Engine) plainly(h *Hold, w *waiter, id string, unsure doubt, end time.Duration) error {
	if unsure.any {
		e.sender.Reclaim(request.Orphan{Proto: w.req.Proto, ID: id, NotAfter: unsure.notAfter}, w.req.Lease)
		id = e.newID()
	}
	e.table.recall(w, id)
	return e.releaseIn(h, end, false, !unsure.any)
}

// unsettled ends a hand-off of which nothing could be learned in time: both ids are reclaimed, and the
// target goes on under a new one.
func (e *Engine) unsettled(h *Hold, w *waiter, id string, unsure doubt, err error) error {
	e.sender.Reclaim(request.Orphan{Proto: h.proto, ID: h.id()}, h.Longest())
	e.sender.Reclaim(request.Orphan{Proto: w.req.Proto, ID: id, NotAfter: unsure.notAfter}, w.req.Lease)
	e.table.recall(w, e.newID())
	e.table.drop(h, 0)
	return e.unavailable(h.proto, err)
}

// refused takes back a hand-off that too few replicas confirmed. The owner is done all the same; its
// target learns why it does not hold.
func (e *Engine) refused(h *Hold, w *waiter, id string, unsure doubt, err error) {
	e.takeBack(w.req, id)
	e.sender.Reclaim(request.Orphan{Proto: w.req.Proto, ID: id, NotAfter: unsure.notAfter}, w.req.Lease)
	e.table.reject(w, err)
	e.table.drop(h, 0)
}

// by is a context under which nothing takes longer than until end, however many connections have to be made.
func (e *Engine) by(end time.Duration) context.Context {
	return e.sender.Within(background, end-e.clock.Now())
}

// releaseIn releases a hold in Redis, and lets the next in line ask. "Not there" is a loss if the first
// request says so; after a request whose reply was lost it is that request's work.
func (e *Engine) releaseIn(h *Hold, end time.Duration, runOver, certain bool) error {
	runOver = runOver && !h.proto.Traits().Queues // whose turn it is then is the store's to say
	if runOver {
		e.table.ends(h, e.store.Heard(h.proto.Channel()))
	}
	var reply store.ReleaseReply
	var err error
	if !e.sender.Retry(background, end, func() request.Next {
		reply, err = e.sender.Release(background, h.proto, h.id(), end)
		switch store.FaultOf(err) {
		case store.FaultNone, store.FaultConflict:
			return request.Settled
		case store.FaultAmbiguous:
			certain = false
		case store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		e.sender.Reclaim(request.Orphan{Proto: h.proto, ID: h.id()}, h.Longest())
		e.table.drop(h, 0)
		return e.unavailable(h.proto, err)
	}
	if err != nil || certain && reply.Status != store.Done {
		lost := e.lostError(h.proto, hold.Gone, err)
		e.table.drop(h, 0)
		e.events.lost(lost)
		return lost
	}
	others := 0
	if runOver {
		others = e.store.Others(h.proto.Channel(), reply.Receivers)
	}
	e.table.keepTurn(h)
	e.table.drop(h, others)
	return nil
}

// takeBack releases once, without waiting for more than one command's time: the reclaimer is for what
// that does not settle.
func (e *Engine) takeBack(req Request, id string) {
	_, err := e.sender.Release(background, req.Proto, id, e.clock.Now()+e.sender.Limit(e.cfg.Lease))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		e.sender.Reclaim(request.Orphan{Proto: req.Proto, ID: id}, req.Lease)
	}
}
