package memstore

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Server is a database in memory. The zero Server is not ready: see [NewServer].
type Server struct {
	network Network

	mu       sync.Mutex // guards all below; a request is carried out under it, as a whole
	locks    map[string]*lock
	fences   map[string]int64 // by key: the newest token
	channels map[string][]listener
	late     timers // what is under way to the server, whoever sent it
}

// lock is what stands at a key.
type lock struct {
	id        string
	count, op int64 // levels, and the step that said so
	expires   time.Time
}

// NewServer returns a database behind a network; a nil one is without faults and takes no time.
func NewServer(network Network) *Server {
	if network == nil {
		network = perfect{}
	}
	return &Server{
		network: network, locks: make(map[string]*lock), fences: make(map[string]int64),
		channels: make(map[string][]listener),
	}
}

// Close drops what is still under way to the server. No client may be left on it.
func (s *Server) Close() { s.late.stop() }

// Left is what stands in the database: locks with their holders, and channels that somebody listens to.
func (s *Server) Left() (left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.locks {
		if l := s.atLocked(key); l != nil {
			left = append(left, fmt.Sprintf("%q held by %s for %v", key, l.id, time.Until(l.expires)))
		}
	}
	for channel, all := range s.channels {
		if len(all) > 0 {
			left = append(left, fmt.Sprintf("%d subscriptions of %q", len(all), channel))
		}
	}
	slices.Sort(left)
	return left
}

// Holder is who has the lock at a key; "" if it is free.
func (s *Server) Holder(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.atLocked(key); l != nil {
		return l.id
	}
	return ""
}

// atLocked is the lock at a key, if its lease is not over.
func (s *Server) atLocked(key string) *lock {
	l := s.locks[key]
	if l != nil && !time.Now().Before(l.expires) {
		delete(s.locks, key)
		return nil
	}
	return l
}

// holdLocked is the lock at a key if that hold has it.
func (s *Server) holdLocked(key, id string) *lock {
	if l := s.atLocked(key); l != nil && l.id == id {
		return l
	}
	return nil
}

// most is how many spare tokens a hold gets.
const most = 1023

// judgeLocked is the token that comes next, by the rules of fragment_fence_judge.lua: never below the clock, so that it
// grows even if the stored one was lost. What lies between the stored one and the clock is to spare.
func (s *Server) judgeLocked(key string, now int64) (fence, spare int64) {
	stored, ok := s.fences[key]
	switch {
	case ok && stored >= now:
		return stored + 1, 0
	case ok:
		return now, min(now-stored-1, most)
	}
	return now, 0
}

// mintLocked gives the next token out.
func (s *Server) mintLocked(key string, now int64) (fence, spare int64) {
	fence, spare = s.judgeLocked(key, now)
	s.fences[key] = fence
	return fence, spare
}

// now is the server's time as its answers tell it.
func now() int64 { return time.Now().UnixMicro() }

// perfect is a network without faults.
type perfect struct{}

func (perfect) Fate(Request) Fate { return Fate{} }

var _ store.Store = (*Store)(nil)
