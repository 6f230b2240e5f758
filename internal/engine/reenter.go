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

// reenter adds one level to a hold that ctx carries. If it asks for no more than the hold has, that is all
// (see package hold); otherwise Redis is asked. The count in Redis is written as an absolute number with the
// number of the operation, so that a copy that is late or sent twice changes nothing. If the outcome stays
// unknown, the level does not count here, and the next change of the hold writes the right count; the hold
// itself is never given up for that.
func (h *Hold) reenter(
	ctx context.Context, from *hold.Level, req Request, patience time.Duration,
) (*hold.Level, error) {
	if err := h.standing(from); err != nil {
		return nil, err
	}
	if l := h.Nest(ctx, from, req.want()); l != nil {
		h.keepFor(req.MinHold)
		return l, nil
	}
	limited, cancel := req.limited(ctx)
	defer cancel()
	return h.reenterWithin(limited, ctx, from, req, patience)
}

// standing reports why a level that ctx carries cannot be entered again. It is asked first by everything that is done
// inside a hold. A process that stood still for longer than the lease may come here before its wheel has ended the
// contexts; so validity is compared with the clock, and a hold that is over is ended here and now.
func (h *Hold) standing(from *hold.Level) error {
	h.expireIfOver()
	err, releasing := h.Standing(from)
	if err == nil && releasing {
		return h.notHeld()
	}
	return err
}

// reenterWithin adds a level by a step that Redis confirms.
//
// If the answer is lost for good, the caller gets the error and the level is withdrawn, though Redis may count it. That
// costs nothing: the count in Redis is an absolute number, and the next step or the count that follows sets it
// right, with a higher number. The lease may be longer there than any level needs, until the next renewal or
// release. If the answer is "not there", the hold was lost, and all its levels learn of it.
func (h *Hold) reenterWithin(
	limited, ctx context.Context, from *hold.Level, req Request, patience time.Duration,
) (*hold.Level, error) {
	e := h.engine
	l, start, step, err := h.Push(from, req.want())
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return nil, h.notHeld()
	}
	status, err := h.sendStep(limited, step, patience)
	h.Stepped(step, err == nil && status != store.Gone)
	if err != nil {
		h.withdraw(l)
		if limited.Err() != nil || e.sender.Closed() {
			return nil, e.gaveUp(limited, ctx, h.proto, nil, err)
		}
		return nil, e.unavailable(h.proto, err)
	}
	if status == store.Gone {
		h.withdraw(l)
		h.lose(hold.Gone, nil)
		return nil, h.overCause()
	}
	return h.settle(ctx, l, start, step, req)
}

// sendStep sends a re-entry until it is answered, for as long as the hold is valid and patience lasts. It is the
// same step each time, with the same number: if an earlier sending was carried out and its answer lost, Redis
// answers "done before" to the next. If the caller's context ends in between, nothing has to be cleaned up. The
// level is withdrawn here, and what Redis was told of it is corrected by the next step or the next count, which has
// a higher number.
func (h *Hold) sendStep(
	ctx context.Context, step hold.Step, patience time.Duration,
) (store.Status, error) {
	e := h.engine
	limit, end := e.sender.Limit(step.TTL), e.clock.Now()+patience
	send := func(ctx context.Context) (reply store.StepReply, err error) {
		err = request.Exchange(crash.Reenter, func() (err error) {
			reply, err = h.proto.Reenter(e.sender.Within(ctx, limit), h.step(step))
			return err
		})
		return reply, err
	}
	var reply store.StepReply
	var err error
	if !e.sender.Retry(ctx, end, func() request.Next {
		reply, err = request.Call(e.sender, ctx, send, func(store.StepReply, error) {})
		switch kind := store.FaultOf(err); {
		case kind == store.FaultNone, kind == store.FaultConflict:
			return request.Settled
		case kind == store.FaultDefinite, isShortfall(err), errors.Is(err, request.ErrAbandoned), !h.Valid():
			return request.GiveUp
		}
		return request.Later
	}) {
		return 0, err
	}
	if err != nil {
		return store.Gone, nil
	}
	return reply.Status, nil
}

// withdraw takes back a level that did not come to be. If the others were unlocked meanwhile, nobody
// else is left to release the hold.
func (h *Hold) withdraw(l *hold.Level) {
	alone, done := h.Withdraw(l)
	e, own := h.engine, l.Owner()
	if done {
		Ended(own, h.Loss())
	}
	if alone && !e.sender.Spawn(func() {
		if h.Claim() {
			_ = h.finish(l, e.releaseEnd(), nil)
		} else {
			Ended(own, h.Loss())
		}
	}) {
		Ended(own, e.refuse(h.proto)) // Close is at work, and ends it
	}
}

// overCause is why the hold ended.
func (h *Hold) overCause() error {
	if cause := h.Cause(); cause != nil {
		return cause
	}
	return h.notHeld()
}

// settle opens a level that Redis has confirmed.
func (h *Hold) settle(
	ctx context.Context, l *hold.Level, start time.Duration, step hold.Step, req Request,
) (*hold.Level, error) {
	settled := l.Settle(ctx, start, step, req.MaxHold)
	switch {
	case settled.Open:
		h.keepFor(req.MinHold)
		return l, nil
	case settled.Done:
		Ended(l.Owner(), settled.Cause)
	case settled.Cause == nil:
		return nil, h.notHeld()
	}
	return nil, settled.Cause
}
