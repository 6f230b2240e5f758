package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Note writes what the hold that ctx carries says of itself. If the store says that the hold is gone, it is lost.
//
// A holder may say something of itself beside its lock: where it can be reached, say. The note counts for as long as
// its hold stands and no newer token was noted, which the store decides. A copy of the request writes the same again.
//
// For example, a leader writes its address as it is elected, under token 7. The process stops for a minute, loses the
// lock, and another is elected under token 9 and writes its own address. The first goes on, and its request, or a copy
// that was under way all the time, arrives: the store finds another id at the lock, or the newer token, and leaves the
// address of the second alone. The answer "gone" is a loss that this process has not noticed yet, so it is reported.
func (e *Engine) Note(ctx context.Context, p store.Protocol, text string) error {
	if !e.sender.Begin() {
		return e.refuse(p)
	}
	defer e.sender.Done()
	return e.note(ctx, p, text, false, releaseEnd(e, e.clock.Now()))
}

// Resign takes away what a level says of its holder, and unlocks the level: another level's word counts again, if
// there is one. If the store is not told, the error says so, unless the unlock has an error of its own or releases the
// lock: then the word counts no more.
//
// Both have the release timeout together. The note has the first half, so that the release is sent in any case: with
// it the note counts no more. It is taken away first all the same, as a store may keep what counts no more for a while.
func (e *Engine) Resign(l *hold.Level, p store.Protocol) error {
	began := e.clock.Now()
	untold := e.unsay(l, p, began+e.cfg.ReleaseTimeout/2)
	return cmp.Or(unlockBy(l, func(e *Engine, _ time.Duration) time.Duration { return releaseEnd(e, began) }), untold)
}

// unsay has the store forget what a level says of its holder, until an end. What another level said last counts again.
func (e *Engine) unsay(l *hold.Level, p store.Protocol, end time.Duration) error {
	h, err := e.Held(l, p)
	if err != nil || !l.IsOpen() || !e.sender.Begin() { // the unlock says what is the matter
		return nil
	}
	defer e.sender.Done()
	now, said := l.Hold().Said(nil)
	if h.Count == 1 {
		if said {
			_ = e.note(context.WithoutCancel(l), p, "", true, end) // the release that follows ends what was said
		}
		return nil
	}
	then, spoken := l.Hold().Said(l)
	if then == now && spoken {
		return nil
	}
	return e.note(context.WithoutCancel(l), p, then, !spoken, end)
}

// Speaks reports that another level of l's Hold says something of its holder.
func (e *Engine) Speaks(l *hold.Level) bool {
	_, spoken := l.Hold().Said(l)
	return spoken
}

// note is Note, which ends at an instant at the latest.
func (e *Engine) note(ctx context.Context, p store.Protocol, text string, take bool, end time.Duration) error {
	l, g, err := e.holding(ctx, p)
	if err != nil {
		return err
	}
	h := l.Hold()
	h.MarkSingle() // the store has the note for as long as it has the id, so that is not passed on with the note
	if !take {
		l.Say(text) // before it is sent: if it fails, the store may have it
	}
	note := store.Note{ID: g.id, Fence: h.Fence, Text: text}
	status, err := noting(ctx, e, p, end, func(ctx context.Context, n store.Noter) (store.Status, error) {
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
		return store.Note{}, over(ctx, p)
	}
	end := releaseEnd(e, e.clock.Now())
	return noting(ctx, e, p, end, func(ctx context.Context, n store.Noter) (store.Note, error) { return n.Noted(ctx) })
}

// noting sends a request about a note until it is answered, or until end.
func noting[R any](
	ctx context.Context, e *Engine, p store.Protocol, end time.Duration,
	send func(ctx context.Context, n store.Noter) (R, error),
) (reply R, err error) {
	limit := e.sender.Limit(e.cfg.Lease)
	if !e.sender.Retry(ctx, end, func() request.Next {
		reply, err = request.Call(e.sender, ctx, func(ctx context.Context) (reply R, err error) {
			ctx = e.store.WithinAll(ctx, limit, end-e.clock.Now())
			if err := e.store.Ready(ctx, limit); err != nil {
				return reply, err
			}
			return send(ctx, p.(store.Noter)) // as its traits say
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
