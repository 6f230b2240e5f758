package engine

import (
	"context"
	"sync"
)

// maxWaiting bounds the events of a stream that wait to be told, but for those that must be.
const maxWaiting = 4096

// stream tells events one after another, in a goroutine that lives for as long as there are any. A post
// does not wait.
//
// A goroutine is started by the post that finds none, and ends when it finds nothing to tell; both are decided
// under the mutex. So an event that is posted while the goroutine is about to end is either seen by it or starts
// the next one, and never waits for a later event. One goroutine at a time means that events of a stream are told
// in their order.
type stream struct {
	guard  func(tell func())   // calls tell and outlives its panic
	report func(dropped int64) // says that so many were dropped, now that there is time for it

	mu      sync.Mutex // guards all below
	queue   []func()
	dropped int64 // since that was said last
	total   int64 // that were dropped
	closed  bool
	idle    chan struct{} // closed when the goroutine ends; nil while there is none
}

// post queues an event. If too many wait it is dropped and counted, unless it must be told.
func (s *stream) post(tell func(), must bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !must && len(s.queue) >= maxWaiting {
		s.dropped++
		s.total++
		return
	}
	s.queue = append(s.queue, tell)
	if s.idle == nil {
		s.idle = make(chan struct{})
		go s.run(s.idle)
	}
}

// count is how many events were dropped.
func (s *stream) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// run tells what there is until there is nothing more. An event that panics does not end it (guard).
func (s *stream) run(idle chan struct{}) {
	defer close(idle)
	for {
		tell, dropped := s.next()
		switch {
		case tell != nil:
			s.guard(tell)
		case dropped > 0:
			s.guard(func() { s.report(dropped) })
		default:
			return
		}
	}
}

// next takes out the next event, or when there is none the number of those that were dropped. To say that some were
// dropped is an event too, during which others may come; so the goroutine ends only when it finds neither. After
// neither the goroutine must end.
func (s *stream) next() (tell func(), dropped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		tell, s.queue[0] = s.queue[0], nil
		s.queue = s.queue[1:]
		return tell, 0
	}
	s.queue = nil
	if s.dropped == 0 {
		s.idle = nil
	}
	dropped, s.dropped = s.dropped, 0
	return nil, dropped
}

// close takes no more events and waits until all were told. It reports false if ctx ended before; they are
// told all the same, by a goroutine that then is left behind.
func (s *stream) close(ctx context.Context) bool {
	s.mu.Lock()
	s.closed = true
	idle := s.idle
	s.mu.Unlock()
	if idle == nil {
		return true
	}
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
