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

	mu       sync.Mutex    // guards all below; a request is carried out under it, as a whole
	behind   time.Duration // how far the clock was set back
	ahead    time.Duration // how far the servers' clocks were ahead that took over, one after the other
	frozen   int           // how often it was frozen and has not thawed since
	unread   []func()      // what came meanwhile: requests, which are carried out under mu
	unheard  []func()      // and subscriptions, which take the client's mutex first
	locks    map[string]*lock
	rwLocks  map[string]*rwLock
	gates    map[string]*gate
	lines    map[string]*line
	pools    map[string]*pool
	numbers  map[string]*number
	fences   map[string]int64 // by key: the newest token
	notes    map[string]store.Note
	channels map[string][]listener
	keepers  map[string]*Store // by their ids: clients that hear who wants what they may not need
	late     timers            // what is under way to the server, from any client
	commit   time.Duration     // for how long nobody will see what the present request takes; 0 as soon as it has
}

// NewServer returns a database behind a network; a nil one is without faults and takes no time.
func NewServer(network Network) *Server {
	if network == nil {
		network = perfect{}
	}
	return &Server{
		network: network, locks: make(map[string]*lock), rwLocks: make(map[string]*rwLock),
		gates: make(map[string]*gate), lines: make(map[string]*line), pools: make(map[string]*pool),
		numbers: make(map[string]*number),
		fences:  make(map[string]int64), notes: make(map[string]store.Note), channels: make(map[string][]listener),
		keepers: make(map[string]*Store),
	}
}

// Close drops what is still under way to the server. No client may be left on it.
func (s *Server) Close() { s.late.stop() }

// SetBack sets the server's clock back: leases last longer by that, and tokens do not fall.
func (s *Server) SetBack(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind += d
}

// Move has another server take over all that there is, the way in which slots of a cluster move: what is left of leases
// stays the same, but the new server's clock is ahead.
func (s *Server) Move(ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += ahead
}

// Left is what stands in the database: locks with their holders, and channels that somebody listens to.
func (s *Server) Left() (left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.locks {
		if l := s.lockLocked(key); l != nil {
			left = append(left, fmt.Sprintf("%q held by %s for %v", key, l.id, s.leftLocked(l.expires)))
		}
	}
	for key := range s.rwLocks {
		if l := s.rwLocked(key); l != nil {
			left = append(left, fmt.Sprintf("%q written by %q and read by %d for %v", key, l.writer, len(l.readers),
				s.leftLocked(l.expires)))
		}
	}
	for key := range s.gates {
		if g := s.gateLocked(key); g != nil {
			left = append(left, fmt.Sprintf("the gate of %q, shut by %s", key, g.writer))
		}
	}
	for key := range s.lines {
		if l := s.lineLocked(key); !l.empty() {
			left = append(left,
				fmt.Sprintf("the queue of %q: %v, clients %v, record %v", key, l.places, l.alive, l.record))
		}
	}
	for key, at := range s.pools {
		if held, over := s.heldLocked(at); held > over {
			left = append(left, fmt.Sprintf("%d permits of %q", held-over, key))
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

// Holds is how many holds stand at a key that live: those that exclude all others, and those that are shared. An
// invitation is none.
func (s *Server) Holds(key string) (exclusive, shared int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lockLocked(key); l != nil && l.count != invited {
		exclusive++
	}
	if l := s.rwLocked(key); l != nil {
		if l.writer != "" {
			exclusive++
		}
		for _, r := range l.readers {
			if !s.overLocked(r.expires) {
				shared++
			}
		}
	}
	return exclusive, shared
}

// Holder is the id of the hold that stands at a key which one has at a time; "": none does, or none that lives. An
// invitation is none.
func (s *Server) Holder(key string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lockLocked(key); l != nil && l.count != invited {
		return l.id
	}
	return ""
}

// Free is how many permits are free at a key, or what stands there to be counted.
func (s *Server) Free(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.pools[key]; at != nil {
		_, over := s.heldLocked(at)
		return at.free + over
	}
	return s.numberLocked(key).n
}

// most is how many spare tokens a hold gets.
const most = 1023

// mintLocked gives the next token out, by the rules of fragment_fence_judge.lua: never below the clock, so that it
// grows even if the stored one was lost. What lies between the stored one and the clock is to spare.
func (s *Server) mintLocked(key string) (fence, spare int64) {
	now := s.microsLocked()
	stored, ok := s.fences[key]
	switch {
	case ok && stored >= now:
		fence = stored + 1
	case ok:
		fence, spare = now, min(now-stored-1, most)
	default:
		fence = now
	}
	s.fences[key] = fence
	return fence, spare
}

// nowLocked is the server's time, by which leases run out.
func (s *Server) nowLocked() time.Time { return time.Now().Add(-s.behind) }

// microsLocked is that time as answers tell it.
func (s *Server) microsLocked() int64 { return s.nowLocked().Add(s.ahead).UnixMicro() }

func (s *Server) afterLocked(d time.Duration) time.Time { return s.nowLocked().Add(d) }

func (s *Server) leftLocked(expires time.Time) time.Duration { return expires.Sub(s.nowLocked()) }

func (s *Server) overLocked(expires time.Time) bool { return s.leftLocked(expires) <= 0 }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// perfect is a network without faults.
type perfect struct{}

func (perfect) Fate(Request) Fate { return Fate{} }

var _ store.Store = (*Store)(nil)
