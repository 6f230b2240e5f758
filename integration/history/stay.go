package history

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
)

// stay is the time that a worker spends inside a lock.
type stay struct {
	Hold
	worker     *worker
	op         string
	of         handle
	held       context.Context
	validUntil time.Duration // the hold goes on at least until then unless it is unlocked, as far as was reported
	looked     time.Duration // when it was last seen to exist
	lost       bool
}

// visit stays inside for a while. It reports false if the hold had ended already.
func (s *stay) visit(span time.Duration, nest bool) bool {
	if !s.begin() {
		return false
	}
	s.remain(span, nest)
	s.worker.client.tell(endLine(s.Hold))
	return true
}

// begin reports the hold. It returns false if the hold ended before it was treated as live.
func (s *stay) begin() bool {
	hold, err := s.of.Held(s.held)
	if err != nil {
		return false
	}
	s.ID, s.Fence, s.End, s.looked = hold.ID, hold.Fence, s.Start, s.Start
	s.learn(hold)
	s.worker.client.tell(holdLine(s.Hold, s.validUntil))
	return true
}

// wheelTick is how much earlier than ValidUntil the context of a hold may end: timers round down. A hold
// that ended that way is released, so another may get the lock before ValidUntil.
const wheelTick = 10 * time.Millisecond

// learn records how long the hold is certain to go on. The clock is read before the remaining time, so
// that a pause in between brings the end forward.
func (s *stay) learn(hold lock.Hold) {
	now := stamp.Now()
	s.validUntil = now + time.Until(hold.ValidUntil) - wheelTick
}

// stalled is the delay of a check beyond which the worker counts as stopped.
const stalled = 20 * time.Millisecond

// look records how long the hold was live: until now, if it still exists; otherwise, if its validity
// ended, for as long as it was certain to go on.
func (s *stay) look() {
	if s.lost {
		return
	}
	now := stamp.Now()
	hold, err := s.of.Held(s.held)
	if err == nil {
		if gap := now - s.looked; gap > tick+stalled {
			s.Stalled += gap
		}
		s.End, s.looked = now, now
		s.learn(hold)
		s.same(hold, 1)
		return
	}
	s.lost = true
	var lost *lock.LostError
	switch {
	case !errors.As(err, &lost):
		s.worker.bad("a hold that was not unlocked is not held: %v", err)
	case lost.Name != s.Name: // of a set, and given back with the other: it was live when it was last seen
	case lost.Reason == lock.LossExpired:
		s.End = max(s.End, min(now, s.validUntil))
	case lost.Reason == lock.LossMaxHold && s.op == "max-hold":
	case lost.Reason == lock.LossGone && s.worker.client.mayMiss(s.Name):
	default:
		s.worker.bad("nobody took it away, and yet: %v", err)
	}
}

// mayMiss reports whether a server might lack a hold that the store granted.
func (c *client) mayMiss(name string) bool {
	return c.Forgets || name == c.own || c.Site == Deposed || c.Site == Thawed
}

// same checks that a hold is the one that was begun, and has count levels.
func (s *stay) same(hold lock.Hold, count int) {
	if hold.ID != s.ID || hold.Fence != s.Fence || hold.Count != count {
		s.worker.bad("hold %s with token %d became %+v at depth %d", s.ID, s.Fence, hold, count)
	}
}

// remain stays inside for a while, or until the hold is lost, and may re-enter meanwhile. At the end it
// checks whether the hold is still live.
func (s *stay) remain(span time.Duration, nest bool) {
	if nest && s.worker.random.IntN(5) == 0 {
		s.nest()
	}
	for end := s.Start + span; !s.lost; {
		left := end - stamp.Now()
		if left <= 0 {
			break
		}
		done := s.held.Done()
		if s.held.Err() != nil {
			done = nil // the caller's deadline passed: the hold goes on
		}
		timer := time.NewTimer(min(left, tick))
		select {
		case <-timer.C:
		case <-done:
		}
		timer.Stop()
		s.look()
	}
	s.look()
}

// nest re-enters the lock, by the context that carries it.
func (s *stay) nest() {
	l, reenters := s.of.(*lock.Lock)
	if !reenters {
		return // a permit more would be another hold
	}
	inner, unlock, err := l.Lock(s.held)
	if err != nil {
		// A deadline that ends this context has not ended the hold.
		over := s.held.Err() != nil && errors.Is(err, context.DeadlineExceeded)
		if !over {
			s.worker.outcome("nested", err)
		}
		return
	}
	if hold, err := l.Held(inner); err == nil {
		s.same(hold, 2)
	}
	if err := unlock(); err != nil {
		s.worker.outcome("inner-unlock", err)
	}
	s.looked = stamp.Now() // it was not stopped
}
