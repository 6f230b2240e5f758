package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Forward puts the server's clock forward.
func (s *Server) Forward(d time.Duration) { s.SetBack(-d) }

// Forward puts the client's clock forward, as a suspension of its machine does, and returns when its wheel has called
// all that is due by then. A closed client's wheel calls nothing.
//
// One timer is armed three times. For the past, which wakes a wheel that sleeps by the clock of package time. Then for
// now, so that the wheel turns through all instants that have passed. Then for the past once more, which comes after
// the others of this instant.
func (s *Store) Forward(d time.Duration) {
	clock, wheel := s.host.Clock, s.host.Wheel
	clock.Advance(d)
	turned, stage := make(chan struct{}), 0
	timer := new(watchdog.Timer)
	timer.Init(func(any) {
		switch stage++; stage {
		case 1:
			wheel.Schedule(timer, clock.Now())
		case 2:
			wheel.Schedule(timer, 0)
		default:
			close(turned)
		}
	}, nil)
	wheel.Schedule(timer, 0)
	select {
	case <-turned:
	case <-s.hung: // and so before the wheel is closed
	}
}

// Wake has all waiters of the client look once more, as after messages that were lost, and reports whether there are
// any.
func (s *Store) Wake() (any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		sub.wakeLocked()
		any = any || len(sub.tickets) > 0
	}
	return any
}

// Forget drops all holds of a key, as if it had been deleted; permits are free then.
func (s *Server) Forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locks, key)
	delete(s.rwLocks, key)
	delete(s.gates, key)
	if at := s.pools[key]; at != nil {
		all, _ := s.heldLocked(at)
		at.free += all
		clear(at.holds)
	}
}
