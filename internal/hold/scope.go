package hold

import (
	"context"
	"sync/atomic"
	"time"
)

// scope is the context of a level. It makes a standard cancel context when it is first asked for something that needs
// one: its channel, or a value, which is how package context finds a cause, and where to attach what is derived. So a
// section whose context nobody waits for, and from whose context nobody derives another, needs no place among the
// caller's contexts, which other goroutines may share.
//
// Nobody can tell when the standard context was made. Before that the scope is over when its parent is, or when it was
// cancelled, and what came first stays the cause: cancel makes the standard context if the parent was over before, and
// if the scope was cancelled before, the standard context does not listen to the parent.
type scope struct {
	parent context.Context       // constant
	is     atomic.Pointer[stage] // nil: it was not cancelled, and nobody has asked
}

// stage is what a scope has become: first an end, if it was cancelled before anybody had asked for a standard context;
// and then that context, once somebody asks.
type stage struct {
	context.Context                         // the standard context; of an end, an ended
	cancel          context.CancelCauseFunc // nil: it is an end
}

// ended is in the place of a context. Nothing but its cause is used.
type ended struct {
	context.Context
	cause error
}

// newEnd is an end with a cause. Scopes may share it.
func newEnd(cause error) *stage { return &stage{Context: ended{cause: cause}} }

func (s *stage) cause() error { return s.Context.(ended).cause }

// Deadline is the parent's.
func (s *scope) Deadline() (time.Time, bool) { return s.parent.Deadline() }

// Done is closed when the hold of the level has ended, the level was unlocked, or the parent is over.
func (s *scope) Done() <-chan struct{} { return s.standard().Done() }

// Err is nil until then, and needs no standard context. Once the parent is over it makes one, which the scope's own end
// comes before or not: so what it answers stays its answer, also beside a cancel that has found the parent alive.
func (s *scope) Err() error {
	for {
		switch is := s.is.Load(); {
		case is == nil:
			if s.parent.Err() == nil {
				return nil
			}
			s.standard()
		case is.cancel == nil:
			return context.Canceled
		default:
			return is.Err()
		}
	}
}

// Value is the parent's, except for the key by which package context asks for a standard context.
func (s *scope) Value(key any) any { return s.standard().Value(key) }

// standard makes the standard context, unless there is one. If several goroutines make one at the same time, one of
// them stores its own; the others cancel theirs, so that the parent keeps no note of them, and look again.
func (s *scope) standard() *stage {
	for {
		is := s.is.Load()
		if is != nil && is.cancel != nil {
			return is
		}
		parent := s.parent
		if is != nil {
			parent = context.WithoutCancel(parent)
		}
		made := new(stage)
		made.Context, made.cancel = context.WithCancelCause(parent)
		if is != nil {
			made.cancel(is.cause())
		}
		if s.is.CompareAndSwap(is, made) {
			return made
		}
		made.cancel(nil)
	}
}

// cancel ends the context with the cause of an end. No mutex is held while a standard context ends: everything that was
// derived from that ends with it. That may take time, as cancel reports.
func (s *scope) cancel(end *stage) (tookTime bool) {
	for {
		is := s.is.Load()
		switch {
		case is == nil && s.parent.Err() != nil:
			s.standard() // with the parent's cause
		case is == nil:
			if s.is.CompareAndSwap(nil, end) {
				return false
			}
		case is.cancel == nil:
			return false // it was cancelled before
		default:
			is.cancel(end.cause())
			return true
		}
	}
}
