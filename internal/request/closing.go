package request

import "time"

// Begin registers a call that Close is to join, and that ends with Done. It reports false on a closed Sender.
//
// Every call of the API is registered here, and so is every goroutine that waits for a reply or cleans up. Close must
// not count them while new ones come: a WaitGroup whose counter may rise from zero while somebody waits is misused. So
// Begin and Close take turns under one mutex, and after Close only a call that is registered already may start another
// goroutine (follow).
func (s *Sender) Begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

// Done ends a call that Begin registered. A call that starts a goroutine with follow ends after it has done so: the
// counter then never falls to zero in between.
func (s *Sender) Done() { s.calls.Done() }

// Spawn runs fn in a goroutine that is joined; on a closed Sender it does not run at all.
func (s *Sender) Spawn(fn func()) bool {
	if !s.Begin() {
		return false
	}
	go func() {
		defer s.calls.Done()
		fn()
	}()
	return true
}

// follow runs fn in a goroutine that is joined. The caller is a call that is joined itself.
func (s *Sender) follow(fn func()) { s.calls.Go(fn) }

// Close refuses new calls, and ends the waits of those under way. It reports false if that was done before.
func (s *Sender) Close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.closed = true
	close(s.closing)
	return true
}

// Closing is closed when Close begins.
func (s *Sender) Closing() <-chan struct{} { return s.closing }

// Closed reports whether Close was called.
func (s *Sender) Closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Wait joins the calls under way.
func (s *Sender) Wait() { s.calls.Wait() }

// WaitUntil joins the calls under way, until end, or until a node is given up that is known not to answer: a call that
// waits for that one ends when its connection does.
//
// The goroutine that waits here may outlive WaitUntil by as long as a call hangs. Close joins it all the same: it
// waits once more, without a bound, when the connections are gone that a call could hang on.
func (s *Sender) WaitUntil(end time.Duration) {
	end = s.ledger.soonest(end)
	joined := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(joined)
	}()
	timer := time.NewTimer(max(end-s.cfg.Clock.Now(), 0))
	defer timer.Stop()
	select {
	case <-joined:
	case <-timer.C:
	}
}
