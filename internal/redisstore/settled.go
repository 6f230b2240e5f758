package redisstore

import (
	"sync"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

const (
	settledNames = 1 << 12 // names of which requests are noted
	settledEach  = 8       // requests noted of one name
)

// settled are requests that Redis remembers for as long as they may be sent again, and that are not
// going to be, because they were answered. The next request of the same name says so, and then Redis
// remembers them for as long as a copy can come only: some seconds, and not minutes. What is not said, since
// the process does not use the name any more or has too many, Redis forgets later.
//
// Losing what is noted here is harmless. So the map is bounded by forgetting any name, and needs no order.
type settled struct {
	mu    sync.Mutex // guards names
	names map[string][]luacall.Settled
}

// add notes requests that were answered.
func (s *settled) add(key string, requests []luacall.Settled) {
	if len(requests) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = make(map[string][]luacall.Settled)
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
// A request that takes the list and then gets no answer puts it back (add): to say the same twice is harmless, and to
// have said it to a request that was lost says nothing.
func (s *settled) take(key string) []luacall.Settled {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.names[key]
	delete(s.names, key)
	return all
}
