package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

var errStale = errors.New("the grant was confirmed when its lease was as good as over")

// leader is a waiter at the head of its line: the only one of its process that waits on Redis.
type leader struct {
	*waiter
	engine *Engine
	doubt  doubt
	untold bool  // an attempt had no answer that may have told of a lapse
	busy   bool  // the last answer was that another has the lock
	last   error // of the last attempt that got no answer
	ticket store.Ticket
	roused <-chan struct{} // it is given a hold while it rests; nil if it cannot be
	also   store.Ticket    // of another channel that the holder tells of its release on
	pause  time.Duration   // between attempts that got no answer
	nap    time.Duration   // between attempts where nobody tells of a release
}

func (e *Engine) newLeader(w *waiter) *leader {
	busy := w.req.Busy || w.lockSet != nil && w.lockSet.busy
	return &leader{waiter: w, engine: e, busy: busy, pause: request.FirstPause, nap: request.FirstPause}
}

// acquire tries until it holds: try, subscribe, try again, wait for a message, the holder's end, or the
// poll interval.
func (e *Engine) acquire(limited, ctx context.Context, w *waiter, told bool) (*Hold, error) {
	l := e.newLeader(w)
	defer l.unsubscribe()
	if channel := w.req.Proto.Channel(); channel != "" && e.store.Heard(channel) != (store.Count{}) {
		l.ticket = e.store.Join(channel, w.req.Proto.Key())
		l.yield(limited)
	} else if until := e.table.outUntil(w.req.Proto.Key()); until > 0 {
		if out := until - e.clock.Now(); out > 0 {
			e.sender.Pause(limited, out)
		}
	}
	for {
		if l.steppedBack(false) {
			return nil, errBehind
		}
		h, pttl, err := l.turn(limited)
		if h != nil {
			return e.given(w, h), nil
		}
		if limited.Err() != nil || e.sender.Closed() || errors.Is(err, request.ErrAbandoned) {
			l.abandon()
			return nil, e.gaveUp(limited, ctx, w.req.Proto, l.answer(), l.last)
		}
		if turned(err) {
			l.abandon()
			return nil, err
		}
		if err != nil {
			if err := l.failed(limited, err); err != nil {
				l.abandon()
				return nil, err
			}
			continue
		}
		if !told {
			told = true
			e.events.waiting(w.req.Proto.Name())
		}
		if l.steppedBack(true) {
			return nil, errBehind
		}
		l.awaitWakeup(limited, pttl)
	}
}

// try is one attempt of a waiter that stands at the head of its line, repeated once or twice if the
// reply was lost.
func (e *Engine) try(limited, ctx context.Context, w *waiter) (*Hold, error) {
	l := e.newLeader(w)
	var err error
	for range 3 {
		var h *Hold
		h, _, err = l.attempt(limited)
		if h != nil {
			return h, nil
		}
		if turned(err) {
			l.abandon()
			return nil, err
		}
		if err != nil && (limited.Err() != nil || e.sender.Closed()) {
			l.abandon()
			return nil, e.gaveUp(limited, ctx, w.req.Proto, l.answer(), l.last)
		}
		if store.FaultOf(err) != store.FaultAmbiguous || isShortfall(err) {
			break
		}
	}
	l.abandon()
	if err == nil {
		return nil, e.busy(w.req.Proto, l.why)
	}
	return nil, e.unavailable(w.req.Proto, err)
}

// answer is what Redis said last to those who wait; nil if it said nothing.
func (l *leader) answer() error {
	if !l.busy {
		return nil
	}
	return l.waiter.answer(l.engine)
}

// answer is what is said to a waiter that was refused.
func (w *waiter) answer(e *Engine) error {
	if w.why != nil {
		return w.why
	}
	return e.cfg.Errors.Busy
}

// failed decides whether an attempt without an answer is followed by another one. A call gives up when
// Redis has said nothing for a whole lease.
func (l *leader) failed(ctx context.Context, err error) error {
	e := l.engine
	kind := store.FaultOf(err)
	if isShortfall(err) {
		for _, req := range l.all() {
			e.takeBack(req, l.ID)
		}
	}
	if kind == store.FaultConflict || kind == store.FaultDefinite || isShortfall(err) {
		return e.unavailable(l.req.Proto, err)
	}
	l.busy = false
	if e.clock.Now()-e.table.answered(l.waiter, err) > e.cfg.Lease {
		return e.unavailable(l.req.Proto, err)
	}
	e.sender.Pause(ctx, l.pause)
	l.pause = min(2*l.pause, request.LastPause)
	return nil
}

// rest waits for a reason to try again. The first time it subscribes, and the reason is that the
// subscription stands: what was released before it did would not be heard of otherwise.
func (l *leader) awaitWakeup(ctx context.Context, pttl time.Duration) {
	e := l.engine
	l.pause = request.FirstPause
	if l.req.Proto.Channel() == "" {
		e.sender.Pause(ctx, min(l.nap/2+rand.N(l.nap), pttl+time.Millisecond))
		l.nap = min(2*l.nap, e.cfg.MaxPoll)
		return
	}
	patience := min(pttl+time.Millisecond, e.cfg.MaxPoll)
	var reason <-chan struct{}
	if l.ticket == nil {
		_ = crash.At(crash.Subscribe)
		l.ticket = e.store.Join(l.req.Proto.Channel(), l.req.Proto.Key())
		reason = l.ticket.Ready()
	}
	var also <-chan struct{}
	if l.also != nil {
		also = l.also.C()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-reason:
		_ = crash.At(crash.Subscribed)
	case <-l.ticket.C():
		l.woken(ctx, reason)
	case <-also:
	case <-l.roused:
	case <-timer.C:
	case <-ctx.Done():
	case <-e.sender.Closing():
	}
	for range 2 {
		select { // the attempt that follows covers every wake-up so far
		case <-l.ticket.C():
		case <-also:
		default:
		}
	}
}

// alsoHear listens on one channel more. Its confirmation wakes too, so nothing is missed.
func (l *leader) alsoHear(channel string) {
	if channel != "" && l.also == nil {
		l.also = l.engine.store.Join(channel, "")
	}
}

// woken tells a message from the confirmation of the subscription, which wakes as well.
func (l *leader) woken(ctx context.Context, subscribed <-chan struct{}) {
	select {
	case <-subscribed:
		_ = crash.At(crash.Subscribed)
		return
	default:
	}
	_ = crash.At(crash.Wake)
	l.yield(ctx)
}

// yield lets as many releases of others pass as the last run of hand-offs here made it owe: otherwise
// processes that are quick would pass the lock to one another for ever, and one that is slower to wake
// would never get it.
//
// The releases are counted, not waited out. Processes that all count have the lock in turn, and it is free
// for no longer than the next one needs to ask: the others owe something then. If one that does not count
// is among them, Redisson for one, all of them owe something when it is its turn, and it has as long as the
// first of them is patient.
//
// Nothing is paid by patience. If it ended because the one whose turn it is holds for long, the attempt
// finds that out, and a debt that shrank meanwhile would be two processes' turn at once. As every message
// pays for one, the debt ends all the same.
func (l *leader) yield(ctx context.Context) {
	e := l.engine
	if !e.table.owes(l.waiter, l.ticket.Count()) {
		return
	}
	timer := time.NewTimer(grace())
	defer timer.Stop()
	for {
		select {
		case <-l.ticket.C():
		case <-l.roused:
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-e.sender.Closing():
			return
		}
		if !e.table.owes(l.waiter, l.ticket.Count()) {
			return
		}
		timer.Reset(grace())
	}
}

// grace is how long a release is left to others. It differs, so that of several processes that wait for
// one that does not come not all ask at once.
func grace() time.Duration { return time.Millisecond + rand.N(localqueue.RunPause) }

func (l *leader) unsubscribe() {
	for _, t := range []store.Ticket{l.ticket, l.also} {
		if t != nil {
			t.Leave()
		}
	}
}

// abandon leaves the queue without a hold. What may have been granted unknown to us is released, and so is
// the place that a queue in Redis keeps for it.
func (l *leader) abandon() {
	if l.untold {
		l.engine.lapsed(l.waiter)
	}
	l.renounce()
	left := l.engine.quit(l.waiter)
	if l.lockSet != nil {
		l.lockSet.id, l.lockSet.denied = l.ID, l.denied // it may go on in another line
		return
	}
	l.engine.leaveRedis(l.waiter, left)
}

// leaveRedis takes away what a waiter that left its queue may have there, or come to have.
func (e *Engine) leaveRedis(w *waiter, left localqueue.Remains) {
	switch {
	case left.ID == "": // nothing was sent, or somebody else cleans up
	case !w.once && w.req.Proto.Traits().Marks:
		e.undo(w.req, left.ID, max(w.denied.notAfter, left.Until))
	case !w.once || !w.req.Loose: // or the refusal left a trace
		e.withdraw(w.req, left.ID, w.denied.notAfter)
	}
}
