package request

import (
	"sync"

	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	settledNames = 1 << 12 // names of which requests are noted
	settledEach  = 8       // requests noted of one name
)

// answered are requests that Redis remembers for as long as they may be sent again, and that are not
// going to be, because they were answered. The next request of the same name says so, and then Redis
// remembers them for as long as a copy can come only: some seconds, and not minutes. What is not said, since
// the process does not use the name any more or has too many, Redis forgets later.
type answered struct {
	mu    sync.Mutex // guards names
	names map[string][]store.Settled
}

// Answered notes requests of a name that were answered.
//
// Losing what is noted here is harmless: the store remembers a request some minutes longer than it has to. So the
// map is bounded by forgetting any name, and needs no order.
func (s *Sender) Answered(key string, requests ...store.Settled) { s.answered.add(key, requests) }

// TakeAnswered returns what the next request of a name is to say of those before it.
func (s *Sender) TakeAnswered(key string) []store.Settled { return s.answered.take(key) }

// add notes requests that were answered.
func (s *answered) add(key string, requests []store.Settled) {
	if len(requests) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = make(map[string][]store.Settled)
	}
	all := append(s.names[key], requests...)
	if len(all) > settledEach {
		all = all[len(all)-settledEach:]
	}
	if len(s.names) >= settledNames && s.names[key] == nil {
		for other := range s.names { // any of them
			delete(s.names, other)
			break
		}
	}
	s.names[key] = all
}

// take returns what is to be said of a name, which then is the caller's to say.
//
// Whoever takes the list and then gets no answer puts it back (Answered): to say the same twice is harmless, and to
// have said it to a request that was lost says nothing.
func (s *answered) take(key string) []store.Settled {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.names[key]
	delete(s.names, key)
	return all
}
