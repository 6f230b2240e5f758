package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// A grant that is idle may be taken away, and nobody tells its process: an operator deletes the key, the server loses
// its data, a message of a break is lost. A holder learns of that with the next renewal, as any does. But a
// new Hold must not begin beside another client's only because this process has not looked. So the age of what the
// store said last bounds for how long an idle grant is entered from memory.
//
// Where callers come often, the grant is renewed in the background before that time is over, with others in one
// request, and no caller waits. After a gap in which nobody had it, it is renewed as the Hold begins: should the lock
// have been taken away in that gap, the Hold ends a round trip later, and not after a third of a lease.
const (
	// SureFor is how long after the sending of the request that the store answered last an idle grant is entered
	// without asking.
	SureFor = 100 * time.Millisecond

	renewAfter = SureFor / 2  // after an answer, by the next caller that enters
	renewGap   = SureFor / 10 // of time in which the grant was idle
)

// resume begins a hold on the idle grant of this process, if the request may have that as it is. If not, the level is
// nil, and the request has to ask. With an error the request has no time left for that: a TryLock has the time of one
// request.
func (e *Engine) resume(ctx context.Context, c call, once bool) (*hold.Level, error) {
	h, age, gap := e.table.resume(c.Request)
	switch {
	case h == nil:
		return nil, nil
	case age > SureFor, h.Fence == 0:
		return e.resumeAsked(ctx, h, c, once)
	case age > renewAfter, gap > renewGap:
		e.watchdog.Refresh(&h.Grant().Lease)
	}
	l, _ := begin(ctx, h, c) // nil: it was lost at this moment
	return l, nil
}

// resumeAsked is resume for a Hold whose grant the store is asked for first. The Hold has no level meanwhile, and so
// nobody has got to see it.
func (e *Engine) resumeAsked(ctx context.Context, h *hold.Hold, c call, once bool) (*hold.Level, error) {
	limited, cancel := c.limited(ctx)
	defer cancel()
	began, limit := e.clock.Now(), e.sender.Limit(c.Lease)
	err := e.confirm(limited, h, limit)
	switch {
	case err == nil:
		l, _ := attach(ctx, h, c) // nil: it was lost at this moment
		return l, nil
	case isGone(err):
		return nil, nil
	case limited.Err() != nil, e.sender.Closed():
		return nil, e.gaveUp(limited, ctx, word{of: c.Proto})
	case once && e.clock.Now()-began >= limit:
		return nil, e.unavailable(c.Proto, err)
	}
	return nil, nil
}

// confirm asks the store whether the grant of a Hold stands, and for a token if the Hold has none. If no answer says
// so, the grant is over here: it is gone, or the ledger releases it.
func (e *Engine) confirm(ctx context.Context, h *hold.Hold, limit time.Duration) error {
	g, ask := grantOf(h), e.renewOne
	if h.Fence == 0 {
		ask = e.mint
	}
	answer, err := make(chan error, 1), request.ErrAbandoned
	if e.sender.Spawn(func() { answer <- ask(h, limit) }) {
		select {
		case err = <-answer:
		case <-ctx.Done():
		case <-e.sender.Closing():
		}
	}
	switch {
	case err == nil:
	case isGone(err):
		g.lose(hold.Gone, behindGone(err))
	default:
		g.disown()
	}
	return err
}

// renewOne renews the grant of a Hold, beside the watchdog, which goes on by what it knows.
func (e *Engine) renewOne(h *hold.Hold, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	var answer [1]watchdog.Result
	e.renew(ctx, "", []*watchdog.Lease{&h.Grant().Lease}, answer[:])
	return answer[0].Err
}

// mint gives a Hold without a token one that the store mints now, and the grant those that are spare. It asks once: if
// the answer is lost, so are the tokens, and the grant is released.
func (e *Engine) mint(h *hold.Hold, limit time.Duration) error {
	g := grantOf(h)
	ask := &store.Ask{ID: g.id, More: true, Timing: store.Timing{Sent: e.clock.Now(), Within: limit}}
	var reply store.AcquireReply
	err := request.Exchange(crash.Renew, func() (err error) { // in place of a renewal
		reply, _, err = g.proto.Acquire(e.sender.Within(background, limit), ask)
		return err
	})
	switch {
	case err != nil:
		return ours(err)
	case reply.Status == store.Gone:
		return watchdog.ErrGone
	}
	g.kept.answered.Store(int64(ask.Sent))
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	g.fence = reply.Fence
	g.lendLocked(h, reply.Spare)
	return nil
}
