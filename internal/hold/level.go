package hold

import (
	"context"
	"iter"
	"sync/atomic"
	"time"
)

// Level is one Lock that was not unlocked yet, and the context that it gave out. It embeds a standard
// cancel context: a Done channel of its own would cost a goroutine for every context derived from it.
type Level struct {
	context.Context
	cancel context.CancelCauseFunc
	hold   *Hold
	outer  *Level                // what the context given to Lock carried
	below  *Level                // the next older level of its Hold; guarded by the mutex of the key
	apart  atomic.Pointer[apart] // what most do not have; written under the mutex of the key
	state  levelState            // guarded by the mutex of the key
}

type levelState uint8

const (
	closed   levelState = iota
	underWay            // in its Hold, without a context: its Lock has not returned, or it leaves for another process
	open                // not unlocked yet
)

// apart is what few levels have: something that is tied to them, an owner who is told of their end, or a place that is
// known. Each lock that is held has a level, so what these need is kept behind one pointer.
//
// The pointer is set under the mutex of the key and read without: once the level is open it stays, and one that finds
// none has nothing to run and nobody to tell. Tie, where it comes to a level that is ending at this moment, finds the
// Hold ended. An owner is there before the level is open, so that an unlock cannot miss it.
type apart struct {
	owner *Owner               // nil: nobody is told; constant
	place string               // of its Lock call, see Want; constant
	tied  atomic.Pointer[Tied] // nil: nothing
}

// newLevel makes a level of h, which is not in it yet.
func (h *Hold) newLevel(owner *Owner, place string) *Level {
	l := &Level{hold: h}
	if owner != nil || place != "" {
		l.apart.Store(&apart{owner: owner, place: place})
	}
	return l
}

// Place is where the Hold was taken that the level belongs to: the place of the outermost of its open levels of which
// one is known; "": of none.
func (l *Level) Place() (place string) {
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	for at := l.hold.top; at != nil; at = at.below {
		if a := at.apart.Load(); a != nil && a.place != "" {
			place = a.place
		}
	}
	return place
}

// Hold is what the level is a level of.
func (l *Level) Hold() *Hold { return l.hold }

// IsOpen reports that the level was not unlocked.
func (l *Level) IsOpen() bool {
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	return l.state == open
}

// Standing is why a level that a context carries cannot be entered again: what its Hold ended with. A caller that is
// told of an end finds the level's context over: the ender may not have come to it yet.
func (l *Level) Standing() error {
	err := l.hold.Err()
	if err != nil {
		l.cancel(err)
	}
	return err
}

type levelKey struct{}

// Value finds the level itself before anything that the parent carries.
func (l *Level) Value(key any) any {
	if _, ok := key.(levelKey); ok {
		return l
	}
	return l.Context.Value(key)
}

// Without returns a context that carries no hold.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, levelKey{}, (*Level)(nil))
}

// Levels are the open levels that ctx carries of those grants that are asked for, the innermost first.
func Levels(ctx context.Context, of func(g *Grant) bool) iter.Seq[*Level] {
	return func(yield func(*Level) bool) {
		l, _ := ctx.Value(levelKey{}).(*Level)
		for ; l != nil; l = l.outer {
			if of(l.hold.grant) && l.IsOpen() && !yield(l) {
				return
			}
		}
	}
}

// Attach makes the first level of a Hold, with its context, for a call that wants that. It reports false if the Hold
// was lost before its owner got to see it.
func (h *Hold) Attach(ctx context.Context, want Want, owner *Owner) (*Level, bool) {
	l := h.newLevel(owner, want.Place)
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	if h.err != nil {
		return nil, false
	}
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(nil, want.MaxHold)
	h.graceLocked(want.Grace)
	return l, true
}

// Open gives a level that Join made its context, and its owner. It reports false, and the level is to be withdrawn, if
// the Hold ended before. The level has no context until then because its owner may be asked for the parent of that, for
// which no mutex is held. It counts meanwhile, so that the grant is not released without it.
func (l *Level) Open(ctx context.Context, owner *Owner) bool {
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	if l.hold.err != nil {
		return false
	}
	if owner != nil {
		with := &apart{owner: owner}
		if a := l.apart.Load(); a != nil {
			with.place = a.place
		}
		l.apart.Store(with)
	}
	l.openLocked(ctx)
	return true
}

// Nest adds a level inside another one. The lease stays what it is. A MaxHold ends the Hold while the level is open.
// Counts says that the store keeps a count. Nest returns nil if the Hold has ended, or is not valid.
func (h *Hold) Nest(ctx context.Context, from *Level, maxHold time.Duration, counts bool) *Level {
	g := h.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.err != nil || !g.Valid() {
		return nil
	}
	l := h.newLevel(from.Owner(), "")
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(l, maxHold)
	if counts && g.steps == nil {
		g.steps = &steps{known: 1, pause: countPause}
	}
	g.followLocked()
	return l
}

// openLocked gives the level its context.
func (l *Level) openLocked(ctx context.Context) {
	l.outer, _ = ctx.Value(levelKey{}).(*Level)
	l.Context, l.cancel = context.WithCancelCause(ctx)
	l.state = open
}

// End ends the level's context. It does not take the level out of its hold. It may be called twice, by what ends the
// hold and by the unlock: the first cause stays. No mutex is held, for what the application derived from the context
// ends here too, and may take any time.
func (l *Level) End(cause error) {
	l.cancel(cause)
	host := l.hold.grant.host
	a := l.apart.Load()
	if a == nil {
		return
	}
	if tied := a.tied.Load(); tied != nil && cause != host.Released {
		host.Detach(tied.Run)
	}
}

// Tied is what levels that were taken as one have together.
type Tied struct {
	Run   func() // in a goroutine of its own, should one of them be lost or its client be closed
	Owner *Owner // has all of them, and so has nothing when one has ended; nil: nobody is told
}

// Tie ties the level to others. Nobody may have been given it yet. A loss that comes before this finds nothing tied,
// and one that comes after it does; in between both may run what is tied, so it must be such that it can run twice. If
// the level has ended, why is returned.
func (l *Level) Tie(with *Tied) (lost error) {
	g := l.hold.grant
	g.mu.Lock()
	if l.apart.Load() == nil {
		l.apart.Store(&apart{})
	}
	l.apart.Load().tied.Store(with)
	lost = l.hold.err
	g.mu.Unlock()
	if lost != nil {
		g.host.Detach(with.Run)
	}
	return lost
}

// closeLocked takes the level out of its Hold; it reports false if it was out already.
func (l *Level) closeLocked() bool {
	if l.state == closed {
		return false
	}
	l.state = closed
	h := l.hold
	h.unlimitLocked(l)
	for at := &h.top; *at != nil; at = &(*at).below {
		if *at == l {
			*at, l.below = l.below, nil
			h.depth--
			break
		}
	}
	return true
}

// pushLocked adds a level.
func (h *Hold) pushLocked(l *Level) {
	l.below, h.top = h.top, l
	h.depth++
}
