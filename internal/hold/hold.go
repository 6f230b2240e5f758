package hold

import (
	"context"
	"sync/atomic"
	"time"
)

// Hold is one Lock call that holds: its contexts, its token, its limit. Levels are the Lock calls nested in it, the
// outermost included. It is guarded by the mutex of its grant's key.
type Hold struct {
	Fence  int64       // constant once it has a level; 0: the store has to mint one
	Warned atomic.Bool // that somebody waits for it in this process was logged

	grant *Grant        // constant; nil: nothing is held (see package engine)
	start time.Duration // when the call that granted it was first sent, or it was passed on, or joined; constant
	next  *Hold         // another one that lives on the grant
	depth int32         // levels that were not unlocked, those under way included
	top   *Level        // the newest that was not taken out
	first Level         // that of the Lock call; here, so that one allocation makes both
	limit *limit
	err   error // what it ended with; nil while it lives
}

// Grant is what the Hold lives on.
func (h *Hold) Grant() *Grant { return h.grant }

// Start is when the Lock call came to the Hold: when the call that granted it was first sent, or when it was passed on
// or joined.
func (h *Hold) Start() time.Duration { return h.start }

// Live reports that the Hold has not ended.
func (h *Hold) Live() bool { return h.Err() == nil }

// Err is what the Hold ended with, and its contexts end with; nil while it lives.
func (h *Hold) Err() error {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	return h.err
}

// lost is what the Hold ended with, if no unlock ended it.
func (h *Hold) lost() error {
	if err := h.Err(); err != h.grant.host.Released {
		return err
	}
	return nil
}

// MarkSingle keeps the grant from passing on after the Hold, which must be live: what was asked for in its name may
// stand beside it, or be carried out, under the grant's id, when that would be another caller's. It is so where another
// side of the lock is asked for inside the Hold, and where a transaction of the user relies on the id. Whether the Hold
// was unlocked before is decided under the mutex under which PassToLocked decides.
func (h *Hold) MarkSingle() bool {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	if h.err != nil {
		return false
	}
	h.grant.single = true
	return true
}

// Attach makes the first level of a Hold, with its context, for a call that wants that. It reports false if the Hold
// was lost before its owner got to see it.
func (h *Hold) Attach(ctx context.Context, want *Want, owner *Owner) (*Level, bool) {
	l, outer := h.newLevel(&h.first, owner, want.Place), carried(ctx)
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	if h.err != nil {
		return nil, false
	}
	l.openLocked(ctx, outer)
	h.pushLocked(l)
	h.limitLocked(nil, want.MaxHold)
	h.graceLocked(want.Grace)
	return l, true
}

// Nest adds a level inside another one. The lease stays what it is. A MaxHold ends the Hold while the level is open.
// Counts says that the store keeps a count. Nest returns nil if the Hold has ended, or is not valid.
func (h *Hold) Nest(ctx context.Context, from *Level, maxHold time.Duration, counts bool) *Level {
	g, outer := h.grant, carried(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.err != nil || !g.Valid() {
		return nil
	}
	l := h.newLevel(new(Level), from.Owner(), "")
	l.openLocked(ctx, outer)
	h.pushLocked(l)
	h.limitLocked(l, maxHold)
	if counts && g.steps == nil {
		g.steps = &steps{known: 1, pause: countPause}
	}
	g.followLocked()
	return l
}

// Export unlocks a level whose owner gives its Hold to another process. Its contexts are for the caller to end before
// that. It reports alone if nobody else has the grant, which is over then. Otherwise the level is one under way until
// it parts: it is not entered again, but the grant is not released without it. That matters because the others may all
// leave while the store makes the grant for the importer beside this one. It reports false if the Hold has other
// levels, or is over.
func (h *Hold) Export(l *Level) (contexts Ended, alone, ok bool) {
	g := h.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.err != nil || h.depth != 1 || l.state != open {
		return Ended{}, false, false
	}
	if g.levelsLocked() > 1 {
		l.state = underWay
		return Ended{contexts: h.contextsLocked(nil, g.host.Released)}, false, true
	}
	l.closeLocked(closed)
	return g.endLocked(g.host.Released), true, true
}

// Seen is how many levels the Hold has, and until when it lasts if nothing prolongs it.
func (h *Hold) Seen() (count int, until time.Duration) {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	until = h.grant.Lease.ValidUntil()
	if limited := h.limit.until(); limited > 0 {
		until = min(until, limited)
	}
	return int(h.depth), until
}

// newLevel prepares l as a level of h. It does not add l to h: pushLocked does.
func (h *Hold) newLevel(l *Level, owner *Owner, place string) *Level {
	l.hold = h
	if owner != nil || place != "" {
		l.apart.Store(&apart{owner: owner, place: place})
	}
	return l
}

// pushLocked adds a level.
func (h *Hold) pushLocked(l *Level) {
	l.below, h.top = h.top, l
	h.depth++
}

// takeOutLocked takes a level out.
func (h *Hold) takeOutLocked(l *Level) {
	for at := &h.top; *at != nil; at = &(*at).below {
		if *at == l {
			*at, l.below = l.below, nil
			break
		}
	}
}

// contextsLocked appends the contexts of all levels that have one, to be ended with a cause. That of a level which was
// unlocked before the Hold ended is about to end as that of an unlocked one.
func (h *Hold) contextsLocked(contexts []ending, cause error) []ending {
	for l := h.top; l != nil; l = l.below {
		switch {
		case l.parent == nil:
		case l.state == parting:
			contexts = append(contexts, ending{l, h.grant.host.Released})
		default:
			contexts = append(contexts, ending{l, cause})
		}
	}
	return contexts
}

// ownersLocked appends all whose Hold has ended with the levels, those under way included.
func (h *Hold) ownersLocked(owners []*Owner) []*Owner {
	for l := h.top; l != nil; l = l.below {
		if l.state != parting {
			owners = l.ownersLocked(owners)
		}
	}
	return owners
}
