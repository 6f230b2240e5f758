package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// say notes what the store said of a name, if anybody here waits for it.
//
// What the store last said of a name is a fact of its Key, and not of the call that asked: callers that give up behind
// one another have asked once between them, and all of them are to be told the same. It is noted where a request ends,
// before anything else looks at what came of it, also if its caller has left by then.
//
// A caller that gives up is told "unavailable" if no live hold of this process is in its way, and the newest request
// for the name failed, or none has ended. Otherwise it is told what the last answer was, even if that is older than its
// call. Somebody may do without the lock what it does while the store is away, so "unavailable" must not be said where
// another is known to have it.
//
// It is known for as long as somebody of this process waits for the name, or asks for it. A Key that nobody needs
// forgets it, and the next caller asks for itself.
func (t *table) say(p store.Rules, said localqueue.Said) {
	k := t.peek(p)
	if k == nil {
		return
	}
	defer k.mu.Unlock()
	k.sayLocked(said)
}

// sayLocked is say under the mutex of the Key. A Key without a queue has nobody who could be told.
func (k *Key) sayLocked(said localqueue.Said) {
	if k.queue != nil {
		said.At = k.table.engine.clock.Now()
		k.queue.Say(said)
	}
}

// sayOf notes what came of a request for a key that ended without a grant: a grant is noted as it is listed.
func (e *Engine) sayOf(p store.Protocol, reply store.AcquireReply, err, failure error) {
	switch {
	case failure != nil:
		e.table.say(p, localqueue.Said{Err: failure})
	case err == nil && reply.Status == store.Busy:
		said := localqueue.Said{Spoke: true, Why: reply.Why, Mode: p.Mode(), Size: p.Traits().Portion}
		if said.Why != nil && said.Why == p.Traits().Unset {
			said.Size = 0 // where nothing was set there is nothing for anybody
		}
		e.table.say(p, said)
	}
}

// sayLate notes what became of a request that ended with err since its caller left in the middle of it. Of what was
// asked for together, an answer does not say who has what.
func (e *Engine) sayLate(reqs []*Request, err error) {
	var left *store.Left
	if !errors.As(err, &left) {
		return
	}
	var said localqueue.Said
	if late := left.Outcome(); late != nil {
		said.Err = e.failure(background, late, 0, 0)
	} else {
		said.Spoke = len(reqs) == 1
	}
	for i := 0; i < len(reqs) && (said.Spoke || said.Err != nil); i++ {
		e.table.say(reqs[i].Proto, said)
	}
}

// failure is why a request was not served, which took so long and could take as long as limit; nil if it was, or if
// what ended it says nothing about the name. That a caller's end, or Close, kept it from being sent, or from being
// answered, does not; nor does that the request is impossible, which is no answer to others. A connection that could
// not be made is a failure.
//
// It is called without a mutex: errors may be the application's.
func (e *Engine) failure(ctx context.Context, err error, took, limit time.Duration) error {
	if err == nil || e.sender.Closed() {
		return nil
	}
	var left *store.Left
	if errors.Is(err, store.ErrUnsent) || errors.Is(err, request.ErrAbandoned) || errors.As(err, &left) {
		return nil
	}
	cut := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if cut && ctx.Err() != nil && took < limit {
		return nil
	}
	var impossible *store.Refused
	if errors.As(err, &impossible) && !errors.Is(err, e.cfg.Errors.Unavailable) {
		return nil
	}
	return err
}

// word is what a caller is told that gives up; the zero word is that the store has said nothing.
type word struct {
	of      store.Protocol // of which the rest is said
	answer  error          // what is in its way: "busy", or what is said in place of it
	own     *hold.Hold     // a hold of this process that was in its way for all of its wait
	failure error          // why the store does not answer
}

// told is what is known of what w waits for.
func (w *waiter) told() word {
	all := word{of: w.req.Proto}
	var failed time.Duration
	for i, req := range w.all() {
		one, at := w.engine().toldOf(w.lockSet, i, req.Proto, w.Since)
		switch {
		case one.answer != nil:
			return one
		case one.failure != nil && at >= failed:
			all, failed = one, at
		}
	}
	if all.failure == nil && (w.req.Busy || w.lockSet != nil && w.lockSet.busy) {
		all.answer = w.engine().busyWord(w.req.Proto)
	}
	return all
}

// toldOf is what is known of one lock to a call that began at since, and when the store said it. The lock may be number
// i of a set, to which the store may have said something later.
func (e *Engine) toldOf(g *lockSet, i int, p store.Protocol, since time.Duration) (one word, at time.Duration) {
	facts := e.table.facts(p, since)
	said := facts.said
	if g != nil && g.said.At > said.At && (g.said.Err != nil || g.which == i) {
		said = g.said
	}
	one = word{of: p, own: facts.own}
	switch {
	case facts.live:
		one.answer = e.busyWord(p)
	case said.Err != nil:
		one.failure = said.Err
	case said.Spoke || facts.grants:
		if one.answer = said.WhyTo(p.Mode(), p.Traits().Portion); one.answer == nil {
			one.answer = e.busyWord(p)
		}
	}
	return one, said.At
}

// facts are what this process knows of a name, as far as it concerns one that is not served.
type facts struct {
	live   bool       // a grant of this process stands in its way
	own    *hold.Hold // the hold of such a one that is older than the call
	grants bool       // such a grant is being released, or was lost: the store granted it once
	said   localqueue.Said
}

// facts returns what is known of a protocol's key, for a call that began at since.
func (t *table) facts(p store.Protocol, since time.Duration) (f facts) {
	k := t.peek(p)
	if k == nil {
		return f
	}
	defer k.mu.Unlock()
	for g := range k.grantsLocked() {
		if !conflict(p, g.proto) {
			continue
		}
		f.grants = true
		f.live = f.live || !g.OverLocked()
		if h := g.CurrentLocked(); h != nil && h.Start() <= since && f.own == nil {
			f.own = h
		}
	}
	if k.queue != nil {
		f.said = k.queue.Said()
	}
	return f
}

// gaveUp makes the error of w's call, whose wait ended without a hold.
func (w *waiter) gaveUp(limited, ctx context.Context, told word) error {
	e := w.engine()
	err := e.gaveUp(limited, ctx, told)
	if v, ok := err.(*callError); ok && told.own != nil && told.answer != nil && v.kind == told.answer {
		v.cause = ownHold{grantOf(told.own).id, e.clock.Now() - told.own.Start()}
	}
	return err
}

// refusedHere makes the error of a try that this process refuses without a request: by a hold of its own, or because of
// a caller that waits and was refused.
func (e *Engine) refusedHere(w *waiter) error {
	told := w.told()
	if told.answer == nil {
		told.answer = e.busyWord(told.of)
	}
	return &callError{kind: told.answer, of: told.of}
}
