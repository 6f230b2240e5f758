package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Grant is what the store gave this client for a name: what package hold decides about, with what the store knows of
// it.
type Grant struct {
	hold.Grant
	key   *Key           // that lists it until it is over; constant
	proto store.Protocol // constant
	id    string         // of one client and one grant, and never used again; constant
	since time.Duration  // when the call that brought it was first sent; constant

	// doubt is until when a late copy of the acquisition may be carried out. It is the releaser's.
	doubt store.Late

	// Guarded by the mutex of its Key, as what is embedded.
	fence   int64               // the token of the newest Hold
	portion *localqueue.Portion // what it is one of; nil: of nothing
	spare   int16               // how many numbers right above fence are for those to whom it is passed
	suspect bool                // a message said that somebody released the lock (see suspect.go)
	kept    *kept               // what one has that may be idle; nil: it may not (see idle.go)
}

func (g *Grant) engine() *Engine { return g.key.table.engine }

// grantOf is the grant that a Hold lives on.
func grantOf(h *hold.Hold) *Grant { return leased(&h.Grant().Lease) }

// leased is the grant that a lease of the watchdog, and so a grant of package hold, is a part of.
func leased(l *watchdog.Lease) *Grant { return l.Of.(*Grant) }

// host is what the grants of e need of it. The functions are called by the wheel's goroutine, mostly, and so return
// at once: what takes time is left to the ender, or to a goroutine that the sender joins.
func (e *Engine) host() hold.Host {
	return hold.Host{
		Clock: e.clock, Wheel: e.wheel, Watchdog: e.watchdog,
		Released: e.cfg.Errors.Released,
		Lost: func(g *hold.Grant, reason hold.Reason, cause error) error {
			return e.lostError(leased(&g.Lease).proto, reason, cause)
		},
		Expire: func(g *hold.Grant, reason hold.Reason, err error) {
			if rest := leased(&g.Lease).ending(reason, err); rest != nil {
				e.ender.Add(rest)
			}
		},
		Soon:     e.ender.Add,
		HoldLost: e.events.holdLost,
		Detach:   e.Detach,
		Count:    func(g *hold.Grant, from, to int32) { leased(&g.Lease).count(from, to) },
	}
}

// want is what the request wants.
func (r Request) want() hold.Want {
	terms := hold.Terms{Lease: r.Lease, Renewed: r.Renewed, Keep: r.Keep, Yields: r.Yields}
	return hold.Want{Terms: terms, Limits: r.Limits, Place: r.Place}
}

// newGrantLocked makes the local side of what the store granted for a key, with its first Hold. Start is when the
// granting call was first sent. The Hold has no level yet: attach adds it.
//
// The caller lists it in the same step: the watchdog knows it from now on, and may find at once that it is over. What
// ends it then finds it listed, and takes it off.
func (e *Engine) newGrantLocked(
	k *Key, req Request, id string, fence int64, start time.Duration, doubt store.Late,
) (*Grant, *hold.Hold) {
	g := &Grant{
		key: k, proto: req.Proto, id: id, since: start, fence: fence,
		doubt: doubt, portion: portionOf(req.Proto),
	}
	g.Lease.Of = g
	if req.Keep > 0 || req.Yields {
		g.kept = &kept{}
	}
	return g, g.InitLocked(&e.holds, &k.mu, start, req.want().Terms, fence)
}

// attach makes the first level of a Hold, with its context. It reports false if the Hold was lost
// before its owner got to see it.
//
// Between the grant and attach nobody could unlock the Hold: its caller has not returned yet. If the caller never comes
// (its context ended while the grant was passed to it), the one who finds that out discards the Hold.
func attach(ctx context.Context, h *hold.Hold, req Request) (*hold.Level, bool) {
	g := grantOf(h)
	g.expireIfOver()
	if req.observed != nil && !h.Live() {
		return nil, false
	}
	if req.Grace > 0 && g.Lease.ValidUntil()-g.engine().clock.Now() <= req.Grace { // its context would end at once
		g.discard(h)
		return nil, false
	}
	return begin(ctx, h, req)
}

// begin is attach for a Hold whose grant was found valid a moment ago.
func begin(ctx context.Context, h *hold.Hold, req Request) (*hold.Level, bool) {
	g := grantOf(h)
	ctx, owner := req.observed.Holds(ctx, g.id, h.Fence, h.Start())
	l, ok := h.Attach(ctx, req.want(), owner)
	if ok {
		g.retainFor(req.MinHold)
	} else {
		Ended(owner, overCause(h)) // it was lost while the observer was told of it
	}
	return l, ok
}

// expireIfOver ends a grant that is not valid any more, should the watchdog not have come to it yet.
func (g *Grant) expireIfOver() {
	if !g.Valid() {
		g.lose(hold.Expired, nil)
	}
}

// carried returns the innermost open level of the lock that ctx carries, or one that was lost and not
// unlocked, or nil.
func (e *Engine) carried(ctx context.Context, p store.Protocol) *hold.Level {
	of := func(g *Grant) bool { return e.isSide(g, p) && g.proto.Mode() == p.Mode() }
	for l := range hold.Levels(ctx, func(g *hold.Grant) bool { return of(leased(&g.Lease)) }) {
		return l
	}
	return nil
}

// isSide reports whether g is a grant of p's lock, on any side of it.
func (e *Engine) isSide(g *Grant, p store.Protocol) bool {
	return g.engine() == e && g.proto.Key() == p.Key()
}

// lostError makes the error that a lost hold's contexts end with. A cause that was a command's own time limit does not
// match the context errors: the application's context has not ended by itself.
func (e *Engine) lostError(p store.Protocol, reason hold.Reason, cause error) error {
	if cause != nil {
		cause = ours(cause)
	}
	return e.cfg.Errors.Lost(p, reason, cause)
}
