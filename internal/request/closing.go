package request

import (
	"sync/atomic"
	"time"
)

// calls counts what Close joins: calls of the API, and goroutines that wait for a reply or clean up. One word has the
// number and whether Close was called: every call of a client, on whatever name, changes it, and no mutex makes them
// wait for one another. Once it is closed the number only falls, but for what a call that is still counted starts
// (follow); so it comes to zero once.
type calls struct {
	word atomic.Int64
	over chan struct{} // closed when Close was called and the last one has ended
}

const (
	closed  = 1
	oneCall = 2
)

// begin counts one, unless closed.
func (c *calls) begin() bool {
	for {
		word := c.word.Load()
		if word&closed != 0 {
			return false
		}
		if c.word.CompareAndSwap(word, word+oneCall) {
			return true
		}
	}
}

func (c *calls) done() {
	if c.word.Add(-oneCall) == closed {
		close(c.over)
	}
}

// close lets no more begin. It reports false if that was done before.
func (c *calls) close() bool {
	word := c.word.Or(closed)
	if word == 0 {
		close(c.over)
	}
	return word&closed == 0
}

// Begin registers a call that Close is to join, and that ends with Done. It reports false on a closed Sender.
//
// Every call of the API is registered here, and so is every goroutine that waits for a reply or cleans up.
func (s *Sender) Begin() bool { return s.calls.begin() }

// Done ends a call that Begin registered. A call that starts a goroutine with follow ends after it has done so.
func (s *Sender) Done() { s.calls.done() }

// Spawn runs fn in a goroutine that is joined; on a closed Sender it does not run at all.
func (s *Sender) Spawn(fn func()) bool {
	if !s.Begin() {
		return false
	}
	go func() {
		defer s.Done()
		fn()
	}()
	return true
}

// follow runs fn in a goroutine that is joined. The caller is a call that is joined itself.
func (s *Sender) follow(fn func()) {
	s.calls.word.Add(oneCall)
	go func() {
		defer s.Done()
		fn()
	}()
}

// Close refuses new calls, and ends the waits of those under way. It reports false if that was done before.
func (s *Sender) Close() bool {
	if !s.calls.close() {
		return false
	}
	close(s.closing)
	return true
}

// Closing is closed when Close begins.
func (s *Sender) Closing() <-chan struct{} { return s.closing }

// Closed reports whether Close was called.
func (s *Sender) Closed() bool { return s.calls.word.Load()&closed != 0 }

// Wait joins the calls under way, once Close was called.
func (s *Sender) Wait() { <-s.calls.over }

// WaitUntil joins the calls under way, until end, or until a node is given up that is known not to answer: a call that
// waits for that one ends when its connection does.
func (s *Sender) WaitUntil(end time.Duration) {
	timer := time.NewTimer(max(s.ledger.soonest(end)-s.cfg.Clock.Now(), 0))
	defer timer.Stop()
	select {
	case <-s.calls.over:
	case <-timer.C:
	}
}
