// Package memquorum has the independent servers of a lock of package redlock in memory: what its scripts do, and the
// faults of a server and of the ways to it. The clock is that of the process, so in a testing/synctest bubble hours
// pass in no time.
package memquorum

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/quorum"
)

// Server is one server. See [New].
type Server struct {
	addr    string
	network memstore.Network

	mu      sync.Mutex    // guards all below; what is sent at once is carried out under it, as a whole
	ahead   time.Duration // of the process's clock
	started time.Time     // by its own clock
	run     int           // how often it was started
	frozen  int           // how often it was frozen and has not thawed since
	unread  []func()      // what came meanwhile
	locks   map[string]*lock
	tokens  map[string]token
}

// New returns an empty server that has been up for a while.
func New(addr string, network memstore.Network, up, ahead time.Duration) *Server {
	return &Server{
		addr: addr, network: network, ahead: ahead, started: time.Now().Add(ahead - up), run: 1,
		locks: make(map[string]*lock), tokens: make(map[string]token),
	}
}

// Restart ends every connection, and the server comes back empty.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run++
	s.started = s.nowLocked()
	s.locks, s.tokens = make(map[string]*lock), make(map[string]token)
}

// Step sets the server's clock.
func (s *Server) Step(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += by
}

// Freeze has the server read nothing, until it thaws as often as it was frozen.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen++
}

// Thaw ends that: what was sent meanwhile is read in its order.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen--; s.frozen > 0 {
		return
	}
	unread := s.unread
	s.unread = nil
	for _, read := range unread {
		read()
	}
}

// Left is what stands there.
func (s *Server) Left() (left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.locks {
		if l := s.lockLocked(key); l != nil {
			left = append(left, fmt.Sprintf("%q at %s, held by %s for %v", key, s.addr, l.id, s.pttlLocked(l)))
		}
	}
	slices.Sort(left)
	return left
}

// Holds reports whether a hold stands there.
func (s *Server) Holds(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockLocked(key) != nil
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

// aboutLocked is what INFO, ROLE and TIME tell. Redis tells its uptime in whole seconds, as the difference of two such.
func (s *Server) aboutLocked() quorum.About {
	return quorum.About{
		Mode: "standalone", Role: "master", Run: fmt.Sprintf("%s/%d", s.addr, s.run),
		Uptime: strconv.FormatInt(s.uptimeLocked(), 10), Now: s.nowLocked().UnixMicro(),
	}
}

func (s *Server) uptimeLocked() int64 { return s.nowLocked().Unix() - s.started.Unix() }

func (s *Server) nowLocked() time.Time { return time.Now().Add(s.ahead) }
