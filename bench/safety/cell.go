package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// patience bounds the waits for servers and processes of the harness. Nothing is measured against it.
const patience = time.Minute

// amount is how much of everything there is.
type amount struct {
	seats  int           // processes
	faults int           // in each cell
	roam   int           // acquisitions before each fault
	limit  time.Duration // for those
}

var (
	full  = amount{seats: 3, faults: 3, roam: 100, limit: 5 * time.Second}
	brief = amount{seats: 3, faults: 1, roam: 10, limit: 3 * time.Second}
)

// cell is one library under one kind of fault, with a server and processes of its own.
type cell struct {
	t      testing.TB
	entry  entry
	fault  fault
	amount amount
	seed   uint64
	random *rand.Rand
	place  *place
	record *record
	seats  []*seat

	hit      []hit
	firstAt  time.Duration // of the first fault
	lastHeal time.Duration
	aftermath

	mu  sync.Mutex // guards err
	err error
}

// seat is the place of one process: a path to the server, and one process after the other.
type seat struct {
	number, generation int
	path               *tcpproxy.Proxy
	process            *role.Process
	who                string
	heard              chan struct{} // closed when all was taken that its process told
}

// hit is one fault that happened to a holder.
type hit struct {
	at, healed time.Duration
	holder     *visit
}

// bound is how long the lock may stay taken, or a call go on, after a fault: a lease that runs out, another one for
// waiters that look once in a lease, and what a busy machine takes.
func (c *cell) bound() time.Duration { return 2*c.entry.lease + 10*time.Second }

func newCell(t testing.TB, e entry, f fault, a amount, seed uint64) *cell {
	return &cell{
		t: t, entry: e, fault: f, amount: a, seed: seed, record: newRecord(), random: rand.New(rand.NewPCG(seed, 1)),
	}
}

func (c *cell) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
}

func (c *cell) check(what string, err error) {
	if err != nil {
		c.failed(fmt.Errorf("%s: %w", what, err))
	}
}

// run carries the cell out.
func (c *cell) run() result {
	c.place = newPlace(c.t, c.entry, c.fault)
	for i := range c.amount.seats {
		s := &seat{number: i, path: tcpproxy.Start(c.t, c.place.addr())}
		c.seats = append(c.seats, s)
		c.occupy(s)
	}
	for range c.amount.faults {
		c.roam()
		if !c.happen() {
			break
		}
	}
	c.finish()
	return c.judge()
}

func (c *cell) occupy(s *seat) {
	s.who = fmt.Sprintf("p%d.%d", s.number, s.generation)
	s.process = c.start(c.place.site(s.path), c.seed+uint64(s.number)<<32+uint64(s.generation)<<40)
	s.generation++
	s.heard = make(chan struct{})
	go func(who string, p *role.Process, heard chan struct{}) {
		defer close(heard)
		c.record.listen(who, p, c.failed)
	}(s.who, s.process, s.heard)
}

// start starts a process of the library.
func (c *cell) start(at site, seed uint64) *role.Process {
	if c.entry.java == nil {
		return clients.Start(c.t, orders{Library: c.entry.name, At: at, Seed: seed})
	}
	program, err := c.entry.java.get()
	must(c.t, "Java", err)
	where := []string{at.Addr}
	if len(at.Sentinels) > 0 {
		where = append([]string{at.Primary}, at.Sentinels...)
	}
	return role.Launch(c.t, program.Peer(append([]string{c.entry.kind, lockName, fmt.Sprint(seed)}, where...)...))
}

func (c *cell) kill(s *seat) {
	alive := stamp.Now()
	s.process.Kill()
	<-s.heard
	c.record.killed(s.who, alive)
}

// redirect leads all paths to the server that takes writes now, and gives that a replica.
func (c *cell) redirect() {
	c.gather()
	c.place.prepare()
}

// gather leads all paths to the server of the place.
func (c *cell) gather() {
	for _, s := range c.seats {
		s.path.Target(c.place.addr())
		s.path.CutAll()
	}
}

// scatter leads all paths but one to another server.
func (c *cell) scatter(but *seat) {
	for _, s := range c.seats {
		if s != but {
			s.path.Target(c.place.other())
			s.path.CutAll()
		}
	}
}

// until waits for a condition, for a time.
func until(limit time.Duration, condition func() bool) bool {
	for end := time.Now().Add(limit); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// roam lets the processes come and go.
func (c *cell) roam() {
	want := c.record.acquisitions() + c.amount.roam
	until(c.amount.limit, func() bool { return c.record.acquisitions() >= want })
}

// happen carries out one fault. It returns false if nobody gets the lock any more.
func (c *cell) happen() bool {
	s := c.seats[c.random.IntN(len(c.seats))]
	if c.fault.before != nil {
		c.fault.before(c)
	}
	var holder *visit
	if c.fault.victim != passing {
		holder = c.stay(s)
	}
	if c.firstAt == 0 {
		c.firstAt = stamp.Now()
	}
	at := stamp.Now()
	c.fault.inject(c, s)
	time.Sleep(c.fault.lasts(c)) // the fault itself
	healed := stamp.Now()
	c.fault.heal(c, s)
	if holder != nil && c.fault.victim != killed {
		until(c.entry.lease*12/10, func() bool { return c.record.over(holder) })
	}
	if c.fault.victim != killed {
		c.check("leave", s.process.Send(sayLeave))
	}
	if holder != nil {
		if !until(patience, func() bool { return c.record.over(holder) }) {
			c.failed(fmt.Errorf("%s does not leave", s.who))
		}
		c.hit = append(c.hit, hit{at, healed, holder})
	}
	c.lastHeal = stamp.Now()
	return until(c.bound(), func() bool { return c.record.since(c.lastHeal) })
}

// stay has a process stay inside, and returns its visit, or nil if it does not get in.
func (c *cell) stay(s *seat) (v *visit) {
	limit := c.bound()
	if c.fault.layout != single {
		limit = c.entry.lease * 12 / 10 // a library that waits for a replica lets nobody in
	}
	c.check("stay", s.process.Send(sayStay))
	until(limit, func() bool {
		v = c.record.staying(s.who)
		return v != nil
	})
	return v
}

func (c *cell) copied(v *visit) visit {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	return *v
}

// finish ends all calls, and has a new process take the lock.
func (c *cell) finish() {
	for _, s := range c.seats {
		c.check("pause", s.process.Send(sayPause))
	}
	until(c.bound(), func() bool {
		c.record.mu.Lock()
		defer c.record.mu.Unlock()
		for _, s := range c.seats {
			if !c.record.paused[s.who] {
				return false
			}
		}
		return true
	})
	c.healWait, c.stuck = c.record.longestWait(c.lastHeal)
	c.idle.from = stamp.Now()
	for _, s := range c.seats {
		c.kill(s)
	}
	last := &seat{number: len(c.seats), path: tcpproxy.Start(c.t, c.place.addr())}
	from := stamp.Now()
	c.occupy(last)
	until(patience, func() bool { return c.record.firstCall(last.who) > 0 }) // a JVM takes seconds to start
	c.idle.to = c.record.firstCall(last.who)
	c.freeAfter = -1
	if until(c.bound(), func() bool { return c.record.since(from) }) {
		c.freeAfter = stamp.Now() - c.idle.to
	}
	c.kill(last)
}
