package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// turned reports that the waiter has nothing to wait for here.
func turned(err error) bool {
	var other elsewhere
	return errors.As(err, &other) || errors.Is(err, store.ErrApart)
}

// attempt asks Redis once, or again if only the server's clock had to be learned. Without a hold and
// without an error the lock is busy, for as long as is returned at most.
func (l *leader) attempt(ctx context.Context) (*Hold, time.Duration, error) {
	e := l.engine
	if l.lockSet != nil {
		return l.attemptAll(ctx)
	}
	for range 3 {
		sent := e.ask(ctx, l.waiter, l.doubt)
		if sent.err != nil {
			l.unanswered(sent)
			return nil, 0, sent.err
		}
		l.heard()
		l.noteLapse(sent.reply)
		switch sent.reply.Status {
		case store.Busy:
			l.busy, l.why = true, sent.reply.Why
			l.denied = denial{sent.Start, sent.NotAfter}
			e.table.toldBusy(l.waiter)
			l.placed(sent.reply)
			l.alsoHear(sent.reply.Also)
			if l.doubt.any { // what may hold by this id later has come to it after this request
				l.doubt.since = sent.Start
			}
			return nil, sent.reply.PTTL, nil
		case store.Held, store.Already:
			h, err := l.won(sent)
			return h, 0, err
		}
	}
	return nil, 0, opaque{errClock}
}

// unanswered notes what an attempt without an answer leaves unknown.
func (l *leader) unanswered(sent asked) {
	// What Redis said last says more than that nothing was sent any more.
	if l.last == nil || !errors.Is(sent.err, store.ErrUnsent) && !errors.Is(sent.err, request.ErrAbandoned) {
		l.last = sent.err
	}
	switch {
	case errors.Is(sent.err, request.ErrAbandoned):
		l.doubt, l.untold = doubt{}, false // whoever gets the late reply cleans up after all of it
	case store.FaultOf(sent.err) == store.FaultAmbiguous, store.Denied(sent.err):
		// An ACL may forbid what comes after the first write.
		l.doubt.add(sent.Start, sent.NotAfter)
		l.untold = !l.once
	}
}

// heard notes that Redis answers.
func (l *leader) heard() {
	if l.last != nil {
		l.last = nil
		l.engine.table.answered(l.waiter, nil)
	}
}

// noteLapse has the others registered again if an attempt was told that the store had given up this process, or may
// have been.
func (l *leader) noteLapse(reply store.AcquireReply) {
	if reply.Lapsed || l.untold {
		l.untold = false
		l.engine.lapsed(l.waiter)
	}
}

var errClock = errors.New("the server's clock changes faster than it can be followed")

// won lists the hold, unless its lease is as good as over.
func (l *leader) won(sent asked) (*Hold, error) {
	e := l.engine
	if l.req.Loose {
		return l.took(sent), nil
	}
	start := sent.Start
	if sent.reply.Status == store.Already && l.doubt.any {
		start = min(start, l.doubt.since)
	}
	if sent.reply.Status == store.Already {
		start = l.denied.since(start)
	}
	if e.clock.Now() >= hold.ValidUntil(start, l.req.Lease) {
		l.doubt.add(start, sent.NotAfter)
		l.renounce()
		return nil, opaque{errStale}
	}
	late := max(l.doubt.notAfter, e.table.entering(l.waiter))
	h := e.newHold(l.req, l.ID, sent.reply.Fence, start, late)
	h.lend(l.waiter, sent.reply.Spare, e.clock.Now()-sent.Start)
	h.within(l.under)
	l.shares(h, e.clock.Now()-sent.Start)
	e.table.win(l.waiter, h)
	e.table.stands(l.waiter, sent)
	if e.sender.Closed() {
		h.orphan() // Close may have looked for holds before this one was listed
		return nil, store.ErrUnsent
	}
	return h, nil
}

// renounce gives up the id: it may stand for a hold by now, or do so later, and nobody believes in it.
func (l *leader) renounce() {
	if l.doubt.any {
		late := max(l.doubt.notAfter, l.denied.notAfter, l.engine.table.entering(l.waiter))
		for _, req := range l.all() {
			l.engine.undo(req, l.ID, late)
		}
		l.doubt, l.denied = doubt{}, denial{}
		l.engine.table.rename(l.waiter, l.engine.newID())
	}
}

// all are the requests that the waiter stands for.
func (l *leader) all() []Request {
	if l.lockSet != nil {
		return l.lockSet.reqs
	}
	return []Request{l.req}
}

func isShortfall(err error) bool {
	var s *store.ShortfallError
	return errors.As(err, &s)
}
