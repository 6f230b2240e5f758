package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// reenter adds one level to a hold that ctx carries. If it asks for no more than the hold has, that is all
// (see count.go); otherwise Redis is asked. The count in Redis is written as an absolute number with the
// number of the operation, so that a copy that is late or sent twice changes nothing. If the outcome stays
// unknown, the level does not count here, and the next change of the hold writes the right count; the hold
// itself is never given up for that.
func (h *Hold) reenter(
	ctx context.Context, from *Level, req Request, patience time.Duration,
) (*Level, error) {
	if err := h.standing(from); err != nil {
		return nil, err
	}
	if l := h.nest(ctx, from, req); l != nil {
		return l, nil
	}
	limited, cancel := req.limited(ctx)
	defer cancel()
	return h.reenterWithin(limited, ctx, from, req, patience)
}

// standing reports why a level that ctx carries cannot be entered again. Whoever is told of its end finds
// its context over: the ender may not have come to it yet.
func (h *Hold) standing(from *Level) error {
	if !h.valid() {
		h.lose(Expired, nil)
	}
	h.mu.Lock()
	err, ending := from.errLocked(), h.state == ending // the level's own, whatever became of the hold after that
	if err == nil && h.state == over {
		err = h.cause
	}
	h.mu.Unlock()
	switch {
	case err != nil:
		from.cancel(err)
		return err
	case ending:
		return &callError{kind: h.engine.cfg.Errors.NotHeld, name: h.proto.Name()}
	}
	return nil
}

func (h *Hold) reenterWithin(
	limited, ctx context.Context, from *Level, req Request, patience time.Duration,
) (*Level, error) {
	e := h.engine
	l := &Level{hold: h, reader: from.reader, lease: req.Lease, kept: req.Kept, pending: true}
	start := e.clock.Now()
	l.until = start + req.Lease
	h.mu.Lock()
	if h.state != live {
		h.mu.Unlock()
		return nil, &callError{kind: e.cfg.Errors.NotHeld, name: h.proto.Name()}
	}
	if err := from.errLocked(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	h.pushLocked(l)
	step := h.stepLocked(start)
	h.mu.Unlock()

	status, err := h.push(limited, step, patience)
	h.stepped(step, err == nil && status != store.Gone)
	if err != nil {
		h.withdraw(l)
		if limited.Err() != nil || e.sender.Closed() {
			return nil, e.gaveUp(limited, ctx, h.proto, nil, err)
		}
		return nil, e.unavailable(h.proto, err)
	}
	if status == store.Gone {
		h.withdraw(l)
		h.lose(Gone, nil)
		return nil, h.overCause()
	}
	return l.settle(ctx, start, step, req.MaxHold)
}

// push sends a re-entry until it is answered, for as long as the hold is valid and patience lasts.
func (h *Hold) push(
	ctx context.Context, step store.Step, patience time.Duration,
) (store.Status, error) {
	e := h.engine
	limit, end := e.sender.Limit(step.TTL), e.clock.Now()+patience
	send := func(ctx context.Context) (reply store.StepReply, err error) {
		err = request.Exchange(crash.Reenter, func() (err error) {
			reply, err = h.proto.Reenter(e.sender.Within(ctx, limit), step)
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
		case kind == store.FaultDefinite, isShortfall(err), errors.Is(err, request.ErrAbandoned), !h.valid():
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
func (h *Hold) withdraw(l *Level) {
	h.mu.Lock()
	l.closeLocked()
	h.followLocked()
	alone := h.state == live && h.longestLocked(h.engine.clock.Now()) == 0
	since, done := l.doneLocked()
	h.mu.Unlock()
	if done && !alone {
		h.engine.events.released(h.proto.Name(), since, h.loss())
	}
	if alone {
		h.engine.sender.Spawn(func() { // refused when Close is at work, which then ends it
			if h.claim() {
				_ = h.finish(h.engine.releaseEnd())
			}
		})
	}
}

func (h *Hold) overCause() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		return &callError{kind: h.engine.cfg.Errors.NotHeld, name: h.proto.Name()}
	}
	return h.cause
}

// settle opens a level that Redis has confirmed.
func (l *Level) settle(
	ctx context.Context, start time.Duration, step store.Step, maxHold time.Duration,
) (*Level, error) {
	h, e := l.hold, l.hold.engine
	h.mu.Lock()
	if h.state != live {
		l.closeLocked()
		cause := h.cause
		h.mu.Unlock()
		if cause == nil {
			cause = &callError{kind: e.cfg.Errors.NotHeld, name: h.proto.Name()}
		}
		return nil, cause
	}
	if err := l.errLocked(); err != nil { // its reader ended meanwhile, and others have the hold
		l.closeLocked()
		h.followLocked()
		since, done := l.doneLocked()
		h.mu.Unlock()
		if done {
			e.events.released(h.proto.Name(), since, err)
		}
		return nil, err
	}
	l.openLocked(ctx)
	confirmed := h.confirmLocked(step.Op, start, step.TTL)
	switch {
	case l.kept && confirmed:
		e.watchdog.Keep(&h.lease, start, l.lease)
	case l.kept:
		e.watchdog.Keep(&h.lease, start, 0) // which has it renewed at once
	}
	l.scheduleLocked(start)
	h.limitLocked(l.reader, l, maxHold)
	h.mu.Unlock()
	return l, nil
}
