package memstore

import "time"

// Freeze has the server read nothing more, as one does that is stopped, until it thaws as often as it was frozen. What
// a client sends meanwhile is kept.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen++
}

// Thaw ends that: what was sent meanwhile is read in its order. Only its not-after keeps a request from having an
// effect then, though its sender may have left.
func (s *Server) Thaw() {
	s.mu.Lock()
	s.frozen--
	if s.frozen > 0 {
		s.mu.Unlock()
		return
	}
	unread, unheard := s.unread, s.unheard
	s.unread, s.unheard = nil, nil
	for _, request := range unread {
		request()
	}
	s.mu.Unlock()
	for _, subscribed := range unheard {
		subscribed()
	}
}

// carryNow calls fn under the mutex, unless the server is frozen.
func (s *Server) carryNow(fn func()) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen > 0 {
		return false
	}
	fn()
	return true
}

// carry calls fn under the mutex, when the server is not frozen.
func (s *Server) carry(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen > 0 {
		s.unread = append(s.unread, fn)
		return
	}
	fn()
}

// lateOf calls fn in d, for a client, when the server is not frozen. Fn takes the client's mutex and then the server's,
// so it is not called under that. A freeze that comes between the look and the call changes nothing for anybody: the
// subscription might have been quicker.
func (s *Server) lateOf(client *Store, d time.Duration, fn func()) {
	client.late.after(d, func() {
		s.mu.Lock()
		if s.frozen > 0 {
			s.unheard = append(s.unheard, fn)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		fn()
	})
}
