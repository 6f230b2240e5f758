package servers

import "sync"

// Shared is the one server that all tests of the binary may use. The zero Shared has none yet.
type Shared[S any] struct {
	mu     sync.Mutex // guards what follows
	asked  bool
	server S
	err    error
}

// Get returns the server, or why there is none. The first call launches it, and [Main] ends it.
func (s *Shared[S]) Get(launch func() (S, error), end func(S) error) (S, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.asked = true
		if s.server, s.err = launch(); s.err == nil {
			AtEnd(func() error { return end(s.server) })
		}
	}
	return s.server, s.err
}
