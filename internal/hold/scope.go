package hold

import (
	"context"
	"sync"
	"time"
)

// scope is the context of a level: a standard cancel context, which is made when it is first asked for what needs one.
// That is its channel, or a value, by which package context looks for the cause, and for the place of a context in the
// tree. So a section in whose time nobody waits for the end of its context, and nobody derives one from it, costs no
// place in the tree of the caller's contexts, which other goroutines may share.
//
// Whether it was made before or after an event is not to be seen. Until then it is over with its parent, or when it
// was ended. What came first is its cause for good: end makes it if the parent was over before, and what is made after
// it was ended does not listen to the parent.
type scope struct {
	parent context.Context // constant

	mu    sync.Mutex // guards what follows; the parent may be a scope, whose mutex is taken with it
	made  *standard  // nil: none was asked for
	ended error      // the cause, if it was ended before one was made
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

// Err is nil until then.
func (s *scope) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.made != nil:
		return s.made.Err()
	case s.ended != nil:
		return context.Canceled
	}
	return s.parent.Err()
}

// Value is the parent's, but for what package context asks for.
func (s *scope) Value(key any) any { return s.standard().Value(key) }

func (s *scope) standard() *standard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.makeLocked()
}

func (s *scope) makeLocked() *standard {
	if s.made != nil {
		return s.made
	}
	parent := s.parent
	if s.ended != nil {
		parent = context.WithoutCancel(parent)
	}
	s.made = new(standard)
	s.made.Context, s.made.cancel = context.WithCancelCause(parent)
	if s.ended != nil {
		s.made.cancel(s.ended)
	}
	return s.made
}

// end ends the context with a cause. No mutex is held meanwhile if there is anything that ends with it.
func (s *scope) end(cause error) {
	if made := s.endUnmade(cause); made != nil {
		made.cancel(cause)
	}
}

// endUnmade ends a context that was not made, and returns one that was.
func (s *scope) endUnmade(cause error) *standard {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.made != nil:
		return s.made
	case s.ended != nil:
		return nil
	case s.parent.Err() != nil:
		return s.makeLocked()
	}
	s.ended = cause
	return nil
}
