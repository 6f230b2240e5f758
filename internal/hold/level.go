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
	below  *Level                // the next older level of its hold; guarded by hold.mu
	reader *reader               // whose it is, where several may have the grant together
	apart  atomic.Pointer[apart] // what most do not have; written under hold.mu

	// Guarded by hold.mu.
	pending bool // it has no context: its Lock is still under way, or it is on its way to another process
	open    bool // not unlocked yet
}

// apart is what few levels have: something that is tied to them, or an owner who is told of their end. Each lock that
// is held has a level, so what these need is kept behind one pointer.
//
// The pointer is set under the hold's mutex and read without: once set it stays, and whoever finds none has nothing to
// run and nobody to tell. Tie, where it comes to a level that is ending at this moment, finds the hold's state changed.
// An owner is there before the level is open, so that an unlock cannot miss it.
type apart struct {
	owner *Owner               // nil: nobody is told; constant
	tied  atomic.Pointer[Tied] // nil: nothing
}

// newLevel makes a level of h, which is not in it yet.
func (h *Hold) newLevel(r *reader, owner *Owner) *Level {
	l := &Level{hold: h, reader: r}
	if owner != nil {
		l.apart.Store(&apart{owner: owner})
	}
	return l
}

// Hold is what the level is a level of.
func (l *Level) Hold() *Hold { return l.hold }

// Shares reports that others may have the hold together with the level's Lock call.
func (l *Level) Shares() bool { return l.reader != nil }

// Since is when the Lock call came to the hold that the level belongs to.
func (l *Level) Since() time.Duration {
	if l.reader != nil {
		return l.reader.start
	}
	return l.hold.start
}

// errLocked is why the level ended before the hold did.
func (l *Level) errLocked() error {
	if l.reader != nil {
		return l.reader.err
	}
	return nil
}

// IsOpen reports that the level was not unlocked.
func (l *Level) IsOpen() bool {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	return l.open
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

// Levels are the open levels that ctx carries of those holds that are asked for, the innermost first.
func Levels(ctx context.Context, of func(h *Hold) bool) iter.Seq[*Level] {
	return func(yield func(*Level) bool) {
		l, _ := ctx.Value(levelKey{}).(*Level)
		for ; l != nil; l = l.outer {
			if of(l.hold) && l.IsOpen() && !yield(l) {
				return
			}
		}
	}
}

// Attach makes the first level of a hold, with its context. It reports false if the hold was lost
// before its owner got to see it.
func (h *Hold) Attach(ctx context.Context, want Want, owner *Owner) (*Level, bool) {
	l := h.newLevel(h.firstReader(), owner)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return nil, false
	}
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(l.reader, nil, want.MaxHold)
	return l, true
}

// openLocked gives the level its context.
func (l *Level) openLocked(ctx context.Context) {
	l.outer, _ = ctx.Value(levelKey{}).(*Level)
	l.Context, l.cancel = context.WithCancelCause(ctx)
	l.open, l.pending = true, false
}

// End ends the level's context. It does not take the level out of its hold. It may be called twice, by whoever ends the
// hold and by the unlock: the first cause stays. No mutex is held, for what the application derived from the context
// ends here too, and may take any time.
func (l *Level) End(cause error) {
	l.cancel(cause)
	host := l.hold.host
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
	h := l.hold
	h.mu.Lock()
	if l.apart.Load() == nil {
		l.apart.Store(&apart{})
	}
	l.apart.Load().tied.Store(with)
	lost = l.errLocked()
	if lost == nil && h.state != live {
		lost = h.cause
	}
	over := lost != nil || h.state != live
	h.mu.Unlock()
	if over {
		h.host.Detach(with.Run)
	}
	return lost
}

// closeLocked takes the level out of its hold; it reports false if it was out already.
func (l *Level) closeLocked() bool {
	if !l.open && !l.pending {
		return false
	}
	l.open, l.pending = false, false
	h := l.hold
	h.unlimitLocked(l)
	for at := &h.top; *at != nil; at = &(*at).below {
		if *at == l {
			*at, l.below = l.below, nil
			h.depth--
			l.reader.closedLocked()
			break
		}
	}
	return true
}

// pushLocked adds a level.
func (h *Hold) pushLocked(l *Level) {
	l.below, h.top = h.top, l
	h.depth++
	l.reader.pushedLocked()
}
