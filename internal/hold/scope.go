package hold

import (
	"context"
	"sync"
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
	parent context.Context          // constant
	made   atomic.Pointer[standard] // nil: nobody has asked; set under mu, read without, since many may share it

	mu    sync.Mutex // taken with that of the parent, if that is a scope
	ended error      // the cause, if it was cancelled before the standard context was made; guarded by mu
}

// standard is a context of package context.
type standard struct {
	context.Context
	cancel context.CancelCauseFunc
}

// Deadline is the parent's.
func (s *scope) Deadline() (time.Time, bool) { return s.parent.Deadline() }

// Done is closed when the hold of the level has ended, the level was unlocked, or the parent is over.
func (s *scope) Done() <-chan struct{} { return s.standard().Done() }

// Err is nil until then. It needs no standard context.
func (s *scope) Err() error {
	if made := s.made.Load(); made != nil {
		return made.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch made := s.made.Load(); {
	case made != nil:
		return made.Err()
	case s.ended != nil:
		return context.Canceled
	}
	return s.parent.Err()
}

// Value is the parent's, except for the key by which package context asks for a standard context.
func (s *scope) Value(key any) any { return s.standard().Value(key) }

func (s *scope) standard() *standard {
	if made := s.made.Load(); made != nil {
		return made
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.makeLocked()
}

func (s *scope) makeLocked() *standard {
	if made := s.made.Load(); made != nil {
		return made
	}
	parent := s.parent
	if s.ended != nil {
		parent = context.WithoutCancel(parent)
	}
	made := new(standard)
	made.Context, made.cancel = context.WithCancelCause(parent)
	if s.ended != nil {
		made.cancel(s.ended)
	}
	s.made.Store(made)
	return made
}

// cancel ends the context with a cause. It holds no mutex while a standard context ends: everything that was derived
// from that ends with it.
func (s *scope) cancel(cause error) {
	if made := s.cancelUnmade(cause); made != nil {
		made.cancel(cause)
	}
}

// cancelUnmade ends a scope that has no standard context. If there is one, it returns that, and the caller cancels it.
func (s *scope) cancelUnmade(cause error) *standard {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch made := s.made.Load(); {
	case made != nil:
		return made
	case s.ended != nil:
		return nil
	case s.parent.Err() != nil:
		return s.makeLocked()
	}
	s.ended = cause
	return nil
}
