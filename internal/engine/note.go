package engine

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Note writes what the hold that ctx carries says of itself, or takes it away. If the store says that the hold is
// gone, it is lost.
//
// A holder may say something of itself beside its lock: where it can be reached, say. The note counts for as long as
// its hold stands and no newer token was noted, which the store decides. A copy of the request writes the same again.
//
// For example, a leader writes its address as it is elected, under token 7. The process stops for a minute, loses the
// lock, and another is elected under token 9 and writes its own address. The first goes on, and its request, or a copy
// that was under way all the time, arrives: the store finds another id at the lock, or the newer token, and leaves the
// address of the second alone. The answer "gone" is a loss that this process has not noticed yet, so it is reported.
func (e *Engine) Note(ctx context.Context, p store.Protocol, text string, take bool) error {
	if !e.sender.Begin() {
		return e.refuse(p)
	}
	defer e.sender.Done()
	l, g, err := e.holding(ctx, p)
	if err != nil {
		return err
	}
	h := l.Hold()
	note := store.Note{ID: g.id, Fence: h.Fence, Text: text}
	status, err := noting(ctx, e, p, func(ctx context.Context, n store.Noter) (store.Status, error) {
		return n.Note(ctx, note, take)
	})
	switch {
	case err != nil:
		return err
	case status == store.Gone:
		g.lose(hold.Gone, nil)
		return overCause(h)
	case status == store.Busy: // only a later turn has one: this one is over
		return overCause(h)
	}
	return nil
}

// Noted reads what the holder says of itself, in whichever process it is. It needs no hold: those who want to know who
// leads do not lead. Between two holds nothing counts, and the note is empty.
func (e *Engine) Noted(ctx context.Context, p store.Protocol) (store.Note, error) {
	if !e.sender.Begin() {
		return store.Note{}, e.refuse(p)
	}
	defer e.sender.Done()
	if ctx.Err() != nil {
		return store.Note{}, ContextError(ctx)
	}
	return noting(ctx, e, p, func(ctx context.Context, n store.Noter) (store.Note, error) { return n.Noted(ctx) })
}

// noting sends a request about a note until it is answered, for the release timeout at most.
func noting[R any](
	ctx context.Context, e *Engine, p store.Protocol, send func(ctx context.Context, n store.Noter) (R, error),
) (reply R, err error) {
	limit, end := e.sender.Limit(e.cfg.Lease), e.clock.Now()+e.cfg.ReleaseTimeout
	if !e.sender.Retry(ctx, end, func() request.Next {
		reply, err = request.Call(e.sender, ctx, func(ctx context.Context) (reply R, err error) {
			if err := e.store.Ready(ctx, limit); err != nil {
				return reply, err
			}
			return send(e.sender.Within(ctx, limit), p.(store.Noter)) // as its traits say
		}, func(R, error) {})
		switch store.FaultOf(err) {
		case store.FaultNone:
			return request.Settled
		case store.FaultConflict, store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		return reply, e.unserved(ctx, p, err)
	}
	return reply, nil
}
