package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Hold is one turn of a grant: the levels and the validity that package hold decides about, with what Redis knows of
// it.
type Hold struct {
	hold.Hold
	engine *Engine
	proto  store.Protocol
	number holdNumber
	fence  int64

	// doubt is the server time, in µs, until which a late copy of the acquisition may be carried
	// out; 0 if there can be none.
	doubt int64

	portion *localqueue.Portion // what it is one of; nil: of nothing. Guarded by its part of the table

	loose     bool  // nobody owns what was taken: it is neither kept nor released; constant
	waitedFor bool  // that somebody waits for it here was logged; guarded by its part of the table
	suspect   bool  // a message said that somebody released the lock (see suspect.go); guarded by its part of the table
	spare     int16 // how many numbers right above fence are for those to whom it is passed; constant
}

// id is the hold's id. It is made anew each time: most of the time that a hold lives nobody asks, and it takes
// more memory than anything else about it.
func (h *Hold) id() string { return h.engine.idOf(h.number) }

// ownerOf is the hold that a watchdog's lease, or a hold of package hold, is a part of.
func ownerOf(l *watchdog.Lease) *Hold { return l.Owner.(*Hold) }

// holdOf is the hold that a level is one of.
func holdOf(l *hold.Level) *Hold { return ownerOf(&l.Hold().Lease) }

// host is what the holds of e need of it. The functions are called by the wheel's goroutine, mostly, and so return
// at once: what takes time is left to the ender, or to a goroutine that the sender joins.
func (e *Engine) host() hold.Host {
	return hold.Host{
		Clock: e.clock, Wheel: e.wheel, Watchdog: e.watchdog,
		Released: e.cfg.Errors.Released,
		Lost: func(h *hold.Hold, reason hold.Reason, cause error) error {
			return e.lostError(ownerOf(&h.Lease).proto, reason, cause)
		},
		Expire: func(h *hold.Hold, reason hold.Reason) { ownerOf(&h.Lease).loseSoon(reason, nil) },
		Soon:   e.ender.Add,
		Told:   e.events.lostApart,
		Detach: e.Detach,
		Count:  func(h *hold.Hold, from, to int32) { ownerOf(&h.Lease).count(from, to) },
	}
}

// want is what the request wants of a hold.
func (r Request) want() hold.Want {
	return hold.Want{Lease: r.Lease, Kept: r.Kept, MaxHold: r.MaxHold, MinHold: r.MinHold}
}

// newHold makes the local side of a hold that Redis granted. Start is when the granting call was
// first sent. The hold has no level yet: attach adds it.
func (e *Engine) newHold(req Request, id string, fence int64, start time.Duration, doubt int64) *Hold {
	h := &Hold{
		engine: e, proto: req.Proto, number: e.numberOf(id), fence: fence,
		doubt: doubt, portion: portionOf(req.Proto),
	}
	h.Lease.Owner = h
	h.Init(&e.holds, start, req.want())
	return h
}

// attach makes the first level of a hold, with its context. It reports false if the hold was lost
// before its owner got to see it.
//
// Between the grant and attach there is nobody who could unlock the hold: its caller has not returned yet. If the
// caller never comes (its context ended while the hold was passed to it), the one who finds that out discards the
// hold.
func (h *Hold) attach(ctx context.Context, req Request) (*hold.Level, bool) {
	h.expireIfOver()
	if req.told != nil && !h.Live() {
		return nil, false
	}
	ctx, owner := req.told.Holds(ctx, h.told(req), h.fence, h.Start())
	l, ok := h.Attach(ctx, req.want(), owner)
	if ok {
		h.keepFor(req.MinHold)
	} else {
		Ended(owner, h.overCause()) // it was lost while the observer was told of it
	}
	return l, ok
}

// told is the hold's id, if the observer is told of the call.
func (h *Hold) told(req Request) string {
	if req.told == nil {
		return ""
	}
	return h.id()
}

// expireIfOver ends a hold that is not valid any more, should the watchdog not have come to it yet.
func (h *Hold) expireIfOver() {
	if !h.Valid() {
		h.lose(hold.Expired, nil)
	}
}

// carried returns the innermost open level of the lock that ctx carries, or one that was lost and not
// unlocked, or nil.
func (e *Engine) carried(ctx context.Context, p store.Protocol) *hold.Level {
	of := func(h *Hold) bool { return e.isSide(h, p) && h.proto.Mode() == p.Mode() }
	for l := range hold.Levels(ctx, func(h *hold.Hold) bool { return of(ownerOf(&h.Lease)) }) {
		return l
	}
	return nil
}

// isSide reports whether h is a hold of p's lock, on any side of it.
func (e *Engine) isSide(h *Hold, p store.Protocol) bool {
	return h.engine == e && h.proto.Key() == p.Key()
}

// delist takes a hold that was just listed off the table again if it was over before: the watchdog knows it
// from the start, and whoever ended it has not found it on the table. It would be in everybody's way for ever.
func (h *Hold) delist() {
	if h.Over() {
		h.engine.table.drop(h)
	}
}

// lostError makes the error that a lost hold's contexts end with. A cause that was a command's own time limit does not
// match the context errors: the application's context has not ended by itself.
func (e *Engine) lostError(p store.Protocol, reason hold.Reason, cause error) error {
	if cause != nil {
		cause = ours(cause)
	}
	return e.cfg.Errors.Lost(p, reason, cause)
}
