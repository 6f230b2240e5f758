package engine

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Level is one Lock that was not unlocked yet, and the context that it gave out. It embeds a standard
// cancel context: a Done channel of its own would cost a goroutine for every context derived from it.
type Level struct {
	context.Context
	cancel context.CancelCauseFunc
	hold   *Hold
	outer  *Level  // what the context given to Lock carried
	below  *Level  // the next older level of its hold; guarded by hold.mu
	reader *reader // whose it is, where several may have the grant together
	lease  time.Duration
	until  time.Duration // when its own lease runs out in Redis; for levels that are not kept

	tied atomic.Pointer[func()] // run when it ends by a loss

	// Guarded by hold.mu.
	bound   *bound // its own end, if its lease is fixed
	kept    bool   // renewed until it is unlocked
	pending bool   // its Lock is still under way; it has no context yet
	open    bool   // not unlocked yet
}

// bound is the end of a level that has one of its own. Most have none.
type bound struct {
	timer watchdog.Timer
	at    time.Duration
	err   error // what it ended with, once it has
}

// errLocked is why the level ended before the hold did.
func (l *Level) errLocked() error {
	if l.bound != nil && l.bound.err != nil {
		return l.bound.err
	}
	if l.reader != nil {
		return l.reader.err
	}
	return nil
}

// Engine is the level's.
func (l *Level) Engine() *Engine { return l.hold.engine }

type levelKey struct{}

// Value finds the level itself before anything that the parent carries.
func (l *Level) Value(key any) any {
	if _, ok := key.(levelKey); ok {
		return l
	}
	return l.Context.Value(key)
}

// WithoutHolds returns a context that carries no hold.
func WithoutHolds(ctx context.Context) context.Context {
	return context.WithValue(ctx, levelKey{}, (*Level)(nil))
}

// carried returns the innermost open level of the lock that ctx carries, or one that was lost and not
// unlocked, or nil.
func (e *Engine) carried(ctx context.Context, p store.Protocol) *Level {
	for l := range e.levels(ctx, p) {
		if l.hold.proto.Mode() == p.Mode() {
			return l
		}
	}
	return nil
}

// levels are the open levels of any side of the lock that ctx carries, the innermost first.
func (e *Engine) levels(ctx context.Context, p store.Protocol) iter.Seq[*Level] {
	return func(yield func(*Level) bool) {
		l, _ := ctx.Value(levelKey{}).(*Level)
		for ; l != nil; l = l.outer {
			h := l.hold
			if h.engine != e || h.proto.Key() != p.Key() {
				continue
			}
			h.mu.Lock()
			open := l.open
			h.mu.Unlock()
			if open && !yield(l) {
				return
			}
		}
	}
}

// attach makes the first level of a hold, with its context. It reports false if the hold was lost
// before its owner got to see it.
func (h *Hold) attach(ctx context.Context, req Request) (*Level, bool) {
	l := &Level{hold: h, reader: h.firstReader(), lease: req.Lease, kept: req.Kept, until: h.start + req.Lease}
	if !h.valid() {
		h.lose(Expired, nil)
	}
	h.mu.Lock()
	if h.state != live {
		h.mu.Unlock()
		return nil, false
	}
	l.openLocked(ctx)
	h.pushLocked(l)
	l.scheduleLocked(h.start)
	h.limitLocked(l.reader, nil, req.MaxHold)
	h.mu.Unlock()
	return l, true
}

// openLocked gives the level its context.
func (l *Level) openLocked(ctx context.Context) {
	l.outer, _ = ctx.Value(levelKey{}).(*Level)
	l.Context, l.cancel = context.WithCancelCause(ctx)
	l.open, l.pending = true, false
}

// scheduleLocked arms the level's own end: that of a lease that nobody renews.
func (l *Level) scheduleLocked(start time.Duration) {
	if l.kept {
		return
	}
	l.bound = &bound{at: validUntil(start, l.lease)}
	l.bound.timer.Init(func(arg any) { arg.(*Level).expire() }, l)
	l.hold.engine.wheel.Schedule(&l.bound.timer, l.bound.at)
}

// expire ends a level whose lease is over, and the hold with it if no other level wants it.
func (l *Level) expire() {
	h := l.hold
	h.mu.Lock()
	b := l.bound
	if !l.open || l.errLocked() != nil || h.state != live {
		h.mu.Unlock()
		return
	}
	b.err = h.engine.lostError(h.proto, Expired, nil)
	err, last := b.err, h.longestLocked(h.engine.clock.Now()) == 0
	h.mu.Unlock()
	if last {
		h.loseSoon(Expired, nil)
		return
	}
	h.engine.ender.add(func() {
		l.end(err)
		h.engine.events.lost(err)
	})
}

// end ends the level's context.
func (l *Level) end(cause error) {
	l.cancel(cause)
	if fn := l.tied.Load(); fn != nil && cause != l.hold.engine.cfg.Errors.Released {
		l.hold.engine.Detach(*fn)
	}
	if b := l.bound; b != nil { // it was set before anybody got to see the level
		l.hold.engine.wheel.Cancel(&b.timer)
	}
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
