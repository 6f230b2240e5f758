package redlock

import (
	"strconv"
	"sync"

	"github.com/holdfast-go/holdfast/internal/redisstore"
)

// holds are those of a client, and what it knows of the ids of its attempts.
type holds struct {
	mu    sync.Mutex // guards all below
	byID  map[string]*hold
	tried map[string]struct{} // ids of attempts that failed with an error; nil: they are more than are remembered
	tries uint64
}

// maxTried is how many ids of failed attempts are remembered.
const maxTried = 4096

// nodeID is the id by which the nodes know an attempt: for the first attempt the id of the Lock call, for later ones
// that id with a number appended. A ticket marks an attempt that was answered "busy".
func (s *holds) nodeID(ask *redisstore.Ask) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, tried := s.tried[ask.ID]; ask.Ticket == 0 && !tried && s.tried != nil {
		return ask.ID
	}
	s.tries++
	return ask.ID + "." + strconv.FormatUint(s.tries, 36)
}

// again records that the next attempt under this id is not the first.
func (s *holds) again(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tried == nil:
	case len(s.tried) >= maxTried:
		s.tried = nil // from now on no attempt counts as a first one
	default:
		s.tried[id] = struct{}{}
	}
}

// find returns the hold that the engine knows by id; nil if there is none.
func (s *holds) find(id string) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// idOf returns the id by which the engine knows a hold of this client, or nodeID itself.
func (s *holds) idOf(nodeID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.byID {
		if h.nodeID == nodeID {
			return id
		}
	}
	return nodeID
}

func (s *holds) add(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[h.id] = h
	delete(s.tried, h.id)
}

func (s *holds) remove(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[h.id] == h {
		delete(s.byID, h.id)
	}
}
