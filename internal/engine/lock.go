package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Request is what a caller wants to hold, and how. It is constant once it was given to an engine: a handle has one for
// all its calls, and their waiters point to it.
type Request struct {
	Proto store.Protocol
	hold.Want
	Loose   bool          // what is taken is nobody's: there is no hold (see Take)
	Looks   bool          // with Loose: nothing is taken, and the answer is that of all who waited for it
	Member  bool          // of a set that its caller tells observers of
	Unkept  bool          // it was made with Keep, which was left out because others want the name
	Busy    bool          // the last answer that the caller had was that another has it
	Reentry Reentry       // what becomes of a call whose context carries the lock already
	MaxWait time.Duration // 0: as long as ctx allows
	Waits   time.Duration // the whole wait, where MaxWait is what is left of it; for the error
	OnBusy  func()        // called whenever the store says that another has it; must not wait; may be nil
}

// call is a Lock or TryLock under way.
type call struct {
	*Request
	observed *Observed // nil: nobody observes it
}

// Reentry says what becomes of a call whose context carries a hold of its lock already.
type Reentry uint8

const (
	Enters  Reentry = iota // it adds a level
	Anew                   // it takes a hold of its own, as permits do
	Refused                // it is an error: see NonReentrant of package lock
)

// lasts reports that what a refused request, or a copy of it, may leave in the store does not end with a lease: the
// mark of a waiter, or what is nobody's once it was taken. An attempt that does not wait leaves neither.
func (r *Request) lasts() bool { return r.Loose || r.Proto.Traits().Marks }

// limited is ctx with the longest wait.
func (r *Request) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.MaxWait > 0 {
		return context.WithTimeoutCause(ctx, r.MaxWait, waitedError(max(r.Waits, r.MaxWait)))
	}
	return ctx, func() {}
}

// outer is a hold that another side of its lock is asked for inside. The zero outer is none.
type outer struct {
	id    string
	fence int64
}

// Lock waits until the request is held, or ctx ends, or MaxWait is over. It returns the level, which
// is the context to go on with.
//
// It tries what costs least first: a level of a hold that ctx carries, then a reader's level of a grant that this
// process has, then a turn in the queue of the key. A hold that was granted may be over before it is attached (the
// process stood still in between for longer than the lease); the caller never sees it, and waits again with the instant
// of its call unchanged, so that MaxWait and the observer's figures are about the whole wait.
func (e *Engine) Lock(ctx context.Context, req *Request) (*hold.Level, error) {
	if !e.sender.Begin() {
		return nil, e.refuse(req.Proto)
	}
	defer e.sender.Done()
	l, under, err := e.known(ctx, req)
	if l != nil || err != nil {
		return l, err
	}
	observed := e.observe(ctx, req, false)
	l, err = e.lock(ctx, call{req, observed}, under)
	observed.End(err)
	return l, err
}

// lock is a Lock that begins something.
func (e *Engine) lock(ctx context.Context, c call, under outer) (*hold.Level, error) {
	if ctx.Err() != nil {
		return nil, over(ctx, c.Proto)
	}
	if l := e.join(ctx, c, under); l != nil {
		return l, nil
	}
	if l, err := e.resume(ctx, c, false); l != nil || err != nil {
		return l, err
	}
	c.Request = e.keeps(c.Request)
	limited, cancel := c.limited(ctx)
	defer cancel()
	start := e.clock.Now()
	for {
		w := e.newWaiter(c.Request, start, under)
		e.mayJoin(w)
		e.table.enter(w, false)
		l, err := e.awaitAnswer(limited, ctx, w)
		if err != nil {
			return nil, err
		}
		if l != nil {
			if !grantOf(l.Hold()).open(ctx, l, c) {
				continue
			}
			return l, nil
		}
		h, err := e.waitTurn(limited, ctx, w)
		if err != nil {
			return nil, err
		}
		_ = crash.At(crash.Granted)
		l, ok := attach(ctx, h, c)
		e.bring(w, h)
		if ok {
			return l, nil
		}
	}
}

// TryLock makes one attempt. It is repeated only if its reply was lost, and not beyond MaxWait or the time that one
// request may take. Without a request it is refused by a hold of this process that excludes it, and by a waiter of this
// process that the store has told "busy": that one came first. A waiter that has not been answered yet does not refuse
// it; the two ask beside one another, and the store decides.
func (e *Engine) TryLock(ctx context.Context, req *Request) (*hold.Level, error) {
	if !e.sender.Begin() {
		return nil, e.refuse(req.Proto)
	}
	defer e.sender.Done()
	l, under, err := e.known(ctx, req)
	if l != nil || err != nil {
		return l, err
	}
	observed := e.observe(ctx, req, true)
	l, err = e.tryLock(ctx, call{req, observed}, under)
	observed.End(err)
	return l, err
}

// tryLock is a TryLock that begins something.
func (e *Engine) tryLock(ctx context.Context, c call, under outer) (*hold.Level, error) {
	if ctx.Err() != nil {
		return nil, over(ctx, c.Proto)
	}
	if l := e.join(ctx, c, under); l != nil {
		return l, nil
	}
	if l, err := e.resume(ctx, c, true); l != nil || err != nil {
		return l, err
	}
	c.Request = e.keeps(c.Request)
	w := e.newWaiter(c.Request, e.clock.Now(), under)
	w.once = true
	if e.clear(ctx, c.Proto); ctx.Err() != nil || e.sender.Closed() { // an idle lock is nobody's hold
		return nil, e.gaveUp(ctx, ctx, word{of: c.Proto})
	}
	if !e.table.enter(w, true) {
		return nil, e.refusedHere(w)
	}
	limited, cancel := c.limited(ctx)
	defer cancel()
	h, err := e.try(limited, ctx, w)
	if err != nil {
		return nil, err
	}
	if l, ok := attach(ctx, h, c); ok {
		return l, nil
	}
	return nil, e.unavailable(c.Proto, errStale)
}

// known settles what begins nothing, and what observers are not told of: a lock that ctx carries, and a side of it that
// must not be asked for inside another. If ctx carries another side of the lock, under which the request passes the
// queue, that one is returned. A context that is over is left to the call: what counts those that failed counts it.
//
// A context carries holds from the innermost outwards. The same side of the same lock is entered again; another side is
// looked at by the primitive's own rule (underOther); a hold of another client, or of another lock, does not matter.
// Where re-entry is refused, both are errors.
func (e *Engine) known(ctx context.Context, req *Request) (l *hold.Level, under outer, err error) {
	if req.Reentry == Anew || ctx.Err() != nil {
		return nil, outer{}, nil
	}
	if l := e.carried(ctx, req.Proto); l != nil {
		l, err := grantOf(l.Hold()).reenter(ctx, l, req)
		return l, outer{}, err
	}
	under, err = e.underOther(ctx, req)
	return nil, under, err
}

// underOther looks for holds of other sides of the lock that ctx carries. A read inside a write passes the queue:
// it would otherwise wait for the caller's own hold. A write inside a read is refused, because two callers that do
// it would wait for one another for ever. The outer hold is marked before the request is sent (MarkSingle), so it
// cannot be passed in memory to another caller, beside whom the inner one would then stand.
func (e *Engine) underOther(ctx context.Context, req *Request) (under outer, err error) {
	p := req.Proto
	side := p.Traits().Under
	if side == nil {
		return outer{}, nil
	}
	sides := hold.Levels(ctx, func(g *hold.Grant) bool { return e.isSide(leased(&g.Lease), p) })
	for l := range sides {
		h := l.Hold()
		g := grantOf(h)
		if err := g.enterable(l, req); err != nil {
			return outer{}, err
		}
		pass, err := side(p.Name(), g.proto.Mode())
		switch {
		case pass && h.MarkSingle():
			return outer{g.id, h.Fence}, nil
		case pass:
			return outer{}, g.notHeld()
		case err != nil:
			return outer{}, err
		}
	}
	return outer{}, nil
}

// busy makes the error of a call that another is in the way of. Why is what it says instead, if it is
// something else.
func (e *Engine) busy(p store.Protocol, why error) error {
	if why == nil {
		why = e.busyWord(p)
	}
	return &callError{kind: why, of: p}
}

// busyWord is what callers are told of a lock that others hold. Permits have a text of their own, which matches the
// same error: nobody "holds" a semaphore that has one permit left where two are wanted.
func (e *Engine) busyWord(p store.Protocol) error {
	if word := p.Traits().Busy; word != nil {
		return word
	}
	return e.cfg.Errors.Busy
}

// waitTurn waits in the local queue, and at its head waits for the store. Limited is the context that bounds
// the wait, ctx the one that was given: the error tells which of them ended.
//
// Only the head of the queue sends anything. The others cost the store nothing, whether there are two or ten thousand
// of them, and cost this process a goroutine each that sleeps. Two things wake one of them: the channel of its own on
// which the queue tells it that its state has changed, and the end of its context or of the client. It is the wheel
// that changes the state of a waiter with a place in the store's queue, which has to be heard of while it is the first
// (see armPoll).
//
// Three things can end the wait in the queue: a hold is passed to this waiter; it comes to the head, and asks the store
// itself; the caller's context ends. Which of them it is, is read from the table and never
// from the signal. If the context ends just when a hold is passed to the waiter, the select may take either; if it
// takes the context, quit finds the hold and passes it on.
func (e *Engine) waitTurn(limited, ctx context.Context, w *waiter) (*hold.Hold, error) {
	defer e.unwatch(w)
	stands := false
	for {
		at, h := localqueue.Asking, (*hold.Hold)(nil)
		if !w.asks {
			at, h = w.look()
		}
		switch at {
		case localqueue.Granted:
			return e.given(w, h), nil
		case localqueue.Asking:
			e.wheel.Cancel(&w.stale)
			h, err := e.acquire(limited, ctx, w)
			if err == errBehind {
				if !stands { // a hold of this process came in its way while it asked: by Import
					stands = true
					e.noteStale(w)
					e.armPoll(w)
				}
				continue
			}
			return h, err
		}
		if !stands {
			stands = true
			_ = crash.At(crash.Enqueue)
			e.noteStale(w)
			e.armPoll(w)
			e.register(w)
		}
		select {
		case <-w.Changed():
			continue
		case <-limited.Done():
		case <-e.sender.Closing():
		}
		return nil, e.giveUpTurn(limited, ctx, w)
	}
}

// giveUpTurn takes a waiter out of the queue whose wait has ended, and returns the error of its call.
func (e *Engine) giveUpTurn(limited, ctx context.Context, w *waiter) error {
	told := w.told()
	left := e.quit(w)
	if w.lockSet == nil {
		e.leaveStore(w, left)
	}
	return w.gaveUp(limited, ctx, told)
}

// quit takes w out of the queue. A hold that came to it at the last moment is passed on, in the
// background, because the caller's context is over. What is left for the caller to clean up is returned. If Close is at
// work and starts no goroutines any more, the hold is left to the ledger, for which Close waits.
func (e *Engine) quit(w *waiter) localqueue.Remains {
	h, left := w.leave()
	if h == nil || h == nothing {
		return left
	}
	e.given(w, h)
	if g := grantOf(h); !e.sender.Spawn(func() { g.discard(h) }) {
		g.disown()
	}
	return left
}

// gaveUp makes the error of a wait that ended without a hold: what the store last said, and unavailable if it does not
// answer. It matches the context's error as well, so that a caller can tell that it was its own deadline, and what the
// lock was like until then: "busy" and "the store did not answer" call for different things.
func (e *Engine) gaveUp(limited, ctx context.Context, told word) error {
	v := &callError{kind: told.answer, of: told.of}
	switch {
	case e.sender.Closed():
		return e.refuse(told.of)
	case told.answer != nil:
	case told.failure == nil:
		v.kind, v.cause = e.cfg.Errors.silence(nil), errNoAnswer
	default:
		v.kind, v.cause = e.cfg.Errors.unserving(told.failure), ours(told.failure)
	}
	if ctx.Err() != nil {
		v.ctxErr = ContextError(ctx)
	} else if limited.Err() != nil {
		v.ctxErr = context.Cause(limited)
	}
	return v
}
