package history

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// seat is the place of one client process: a number, a path to the store, and one process after the other.
type seat struct {
	number int
	java   bool              // its processes are Redisson's
	addr   string            // what the process dials
	proxy  *faultproxy.Proxy // in front of Redis; nil where the site has none
	paths  []*tcpproxy.Proxy // to the servers of PostgreSQL or etcd

	mu         sync.Mutex // guards all below
	process    *process
	generation int
	seized     bool
}

// seize claims the process for a fault that stops or kills it.
func (s *seat) seize() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.seized
	s.seized = true
	return !was
}

func (s *seat) yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seized = false
}

func (s *seat) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// occupy starts the next process of the seat.
func (r *run) occupy(s *seat) error {
	s.mu.Lock()
	generation := s.generation
	s.generation++
	s.mu.Unlock()
	p := launch(r.t, s, generation, r.cfg, r.record)
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
	return p.say(sayRoam)
}

// anySeat is a seat for a fault.
func (r *run) anySeat(random *rand.Rand) *seat { return r.seats[random.IntN(len(r.seats))] }

// ourSeat is a seat for a fault that only a client of ours can meet.
func (r *run) ourSeat(random *rand.Rand) *seat { return r.seats[random.IntN(clientsOfOurs)] }

// export passes an exported hold to another process of ours. If that process is gone, the hold's lease runs out.
func (r *run) export(from *process, exported string) {
	seats := make([]*seat, 0, len(r.seats))
	for _, s := range r.seats {
		if p := s.current(); p != nil && p != from && !s.java {
			seats = append(seats, s)
		}
	}
	if len(seats) == 0 {
		return
	}
	next := int(r.exports.Add(1)) % len(seats)
	_ = seats[next].current().say(sayImport + " " + exported)
}

// replace kills the process of a seat and starts the next one.
func (r *run) replace(s *seat) error {
	p := s.current()
	alive := stamp.Now()
	p.kill()
	r.record.killed(p, alive)
	return r.occupy(s)
}

// background runs do; heal waits for it.
func (r *run) background(do func()) { r.late.Go(do) }

// lasting ends a fault later, while others happen: after from to to tenths of a lease.
func (r *run) lasting(random *rand.Rand, from, to int, end func()) {
	d := r.between(random, from, to)
	r.background(func() {
		time.Sleep(d) // the fault itself
		end()
	})
}
