package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/wake"
	"github.com/holdfast-go/holdfast/lua"
)

var (
	errStale  = errors.New("the grant was confirmed when its lease was as good as over")
	errWaited = errors.New("the longest wait is over")
)

// leader is a waiter at the head of its line: the only one of its process that waits on Redis.
type leader struct {
	*waiter
	engine *Engine
	doubt  doubt
	busy   bool  // the last answer was that another has the lock
	last   error // of the last attempt that got no answer
	ticket *wake.Ticket
	pause  time.Duration
}

// lead tries until it holds: try, subscribe, try again, wait for a message, the holder's end, or the
// poll interval.
func (e *Engine) lead(limited, ctx context.Context, w *waiter, told bool) (*Hold, error) {
	l := &leader{waiter: w, engine: e, pause: firstPause}
	defer l.unsubscribe()
	if out := e.table.outUntil(w.req.Proto.Key()) - e.clock.Now(); out > 0 {
		e.pause(limited, out)
	}
	if e.hub.Subscribed(w.req.Proto.Channel()) {
		l.ticket = e.hub.Join(w.req.Proto.Channel())
	}
	for {
		h, pttl, err := l.attempt(limited)
		if h != nil {
			return h, nil
		}
		if limited.Err() != nil || e.isClosed() || errors.Is(err, errAbandoned) {
			l.give()
			return nil, e.gaveUp(limited, ctx, w.req.Proto, l.busy, l.last)
		}
		if err != nil {
			if err := l.failed(limited, err); err != nil {
				l.give()
				return nil, err
			}
			continue
		}
		if !told {
			told = true
			e.news.waiting(w.req.Proto.Name())
		}
		l.rest(limited, pttl)
	}
}

// try is one attempt of a waiter that stands at the head of its line, repeated once or twice if the
// reply was lost.
func (e *Engine) try(ctx context.Context, w *waiter) (*Hold, error) {
	l := &leader{waiter: w, engine: e}
	var err error
	for range 3 {
		var h *Hold
		h, _, err = l.attempt(ctx)
		if h != nil {
			return h, nil
		}
		if err != nil && (ctx.Err() != nil || e.isClosed()) {
			l.give()
			return nil, e.gaveUp(ctx, ctx, w.req.Proto, l.busy, l.last)
		}
		if classify(err) != faultAmbiguous || isShortfall(err) {
			break
		}
	}
	l.give()
	if err == nil {
		return nil, e.busy(w.req.Proto)
	}
	return nil, e.unavailable(w.req.Proto, err)
}

// attempt asks Redis once, or again if only the server's clock had to be learned. Without a hold and
// without an error the lock is busy, for as long as is returned at most.
func (l *leader) attempt(ctx context.Context) (*Hold, time.Duration, error) {
	e := l.engine
	for range 3 {
		sent := e.ask(ctx, l.req, l.id, l.doubt)
		if sent.err != nil {
			l.last = sent.err
			switch {
			case errors.Is(sent.err, errAbandoned):
				l.doubt = doubt{} // whoever gets the late reply cleans up after all of it
			case classify(sent.err) == faultAmbiguous, redis.IsPermissionError(sent.err):
				// An ACL may forbid what comes after the first write.
				l.doubt.add(sent.start, sent.notAfter)
			}
			return nil, 0, sent.err
		}
		if l.last != nil {
			l.last = nil
			e.table.answered(l.waiter, nil)
		}
		switch sent.reply.Status {
		case lua.Busy:
			l.busy = true
			if l.doubt.any { // what may hold by this id later has come to it after this request
				l.doubt.since = sent.start
			}
			return nil, sent.reply.PTTL, nil
		case lua.Held, lua.Already:
			h, err := l.won(sent)
			return h, 0, err
		}
	}
	return nil, 0, opaque{errClock}
}

var errClock = errors.New("the server's clock changes faster than it can be followed")

// won lists the hold, unless its lease is as good as over.
func (l *leader) won(sent asked) (*Hold, error) {
	e := l.engine
	start := sent.start
	if sent.reply.Status == lua.Already && l.doubt.any {
		start = min(start, l.doubt.since)
	}
	if e.clock.Now() >= validUntil(start, l.req.Lease) {
		l.doubt.add(start, sent.notAfter)
		l.renounce()
		return nil, opaque{errStale}
	}
	h := e.newHold(l.req, l.id, sent.reply.Fence, start, l.doubt.notAfter)
	e.table.win(l.waiter, h)
	if e.isClosed() {
		h.orphan() // Close may have looked for holds before this one was listed
		return nil, errUnsent
	}
	return h, nil
}

// failed decides whether an attempt without an answer is followed by another one. A call gives up when
// Redis has said nothing for a whole lease.
func (l *leader) failed(ctx context.Context, err error) error {
	e := l.engine
	kind := classify(err)
	if isShortfall(err) {
		e.takeBack(l.req.Proto, l.id)
	}
	if kind == faultConflict || kind == faultDefinite || isShortfall(err) {
		return e.unavailable(l.req.Proto, err)
	}
	l.busy = false
	if e.clock.Now()-e.table.answered(l.waiter, err) > e.cfg.Lease {
		return e.unavailable(l.req.Proto, err)
	}
	e.pause(ctx, l.pause)
	l.pause = min(2*l.pause, lastPause)
	return nil
}

// rest waits for a reason to try again. The first time it subscribes, and the reason is that the
// subscription stands: what was released before it did would not be heard of otherwise.
func (l *leader) rest(ctx context.Context, pttl time.Duration) {
	e := l.engine
	l.pause = firstPause
	patience := min(pttl+time.Millisecond, e.cfg.MaxPoll)
	var reason <-chan struct{}
	if l.ticket == nil {
		_ = crash.At(crash.Subscribe)
		l.ticket = e.hub.Join(l.req.Proto.Channel())
		reason = l.ticket.Ready()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-reason:
		_ = crash.At(crash.Subscribed)
	case <-l.ticket.C():
		l.woken(ctx, reason)
	case <-timer.C:
	case <-ctx.Done():
	case <-e.closing:
	}
	select {
	case <-l.ticket.C(): // the attempt that follows covers every wake-up so far
	default:
	}
}

// woken tells a message from the confirmation of the subscription, which wakes as well. After a message
// a process that has had a run of its own lets as many releases pass as others heard of its end:
// otherwise processes that are quick would pass the lock to one another for ever, and one that is slower
// to wake would never get it.
func (l *leader) woken(ctx context.Context, subscribed <-chan struct{}) {
	select {
	case <-subscribed:
		_ = crash.At(crash.Subscribed)
		return
	default:
	}
	_ = crash.At(crash.Wake)
	if l.engine.table.owes(l.waiter) {
		l.engine.pause(ctx, time.Millisecond+rand.N(runPause))
	}
}

func (l *leader) unsubscribe() {
	if l.ticket != nil {
		l.ticket.Leave()
	}
}

// give leaves the line without a hold. What may have been granted unknown to us is released.
func (l *leader) give() {
	l.renounce()
	l.engine.quit(l.waiter)
}

// renounce gives up the id: it may stand for a hold by now, or do so later, and nobody believes in it.
func (l *leader) renounce() {
	if l.doubt.any {
		l.engine.reclaim.add(l.req.Proto, l.id, l.doubt.notAfter)
		l.doubt = doubt{}
		l.id = l.engine.newID()
	}
}

func isShortfall(err error) bool {
	var s *shortfallError
	return errors.As(err, &s)
}
