package main

import (
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// victim is the process that a fault happens to.
type victim int

const (
	passing victim = iota // a process that comes and goes
	staying               // a holder that stays until the fault is over
	stopped               // a holder that stays, and can be told nothing before the fault is over
	killed                // a holder that stays, and does not survive
)

// layout is what a server has beside it.
type layout int

const (
	single     layout = iota
	replicated        // a replica
	watched           // a replica, and three Sentinels that fail over to it
	clocked           // a clock of its own
	agreeing          // two others, with which it agrees
)

// fault is a kind of fault.
type fault struct {
	name    string
	what    string
	victim  victim
	stores  []store // nil: all
	durable bool    // Redis has every write on the disk
	layout  layout

	before func(c *cell)          // before the holder gets the lock
	inject func(c *cell, s *seat) // it begins
	lasts  func(c *cell) time.Duration
	heal   func(c *cell, s *seat) // it ends
}

// beyond is longer than a lease that was renewed at the beginning.
func beyond(c *cell) time.Duration { return c.entry.lease * 14 / 10 }

func briefly(*cell) time.Duration { return 700 * time.Millisecond }

func nothing(*cell, *seat) {}

var faults = []fault{
	{name: "none", what: "nothing; a holder stays for longer than its lease", victim: staying,
		inject: nothing, lasts: beyond, heal: nothing},
	{name: "killed", what: "the holder's process is killed, and another one started", victim: killed,
		inject: func(c *cell, s *seat) { c.kill(s) }, lasts: briefly,
		heal: func(c *cell, s *seat) { c.occupy(s) }},
	{name: "stopped", what: "the holder's process is stopped for 1.4 leases (SIGSTOP)", victim: stopped,
		inject: func(c *cell, s *seat) { c.check("SIGSTOP", s.process.Signal(syscall.SIGSTOP)) }, lasts: beyond,
		heal: func(c *cell, s *seat) { c.check("SIGCONT", s.process.Signal(syscall.SIGCONT)) }},
	{name: "cut off", what: "the holder's path loses everything in both directions for 1.4 leases", victim: staying,
		inject: func(_ *cell, s *seat) { s.path.Blackhole(true) }, lasts: beyond,
		heal: func(_ *cell, s *seat) { s.path.Blackhole(false) }},
	{name: "replies late", what: "the holder's replies are held back for 1.4 leases, and then delivered",
		victim: staying, inject: func(_ *cell, s *seat) { s.path.Hold(tcpproxy.Replies, true) }, lasts: beyond,
		heal: func(_ *cell, s *seat) { s.path.Hold(tcpproxy.Replies, false) }},
	{name: "requests late", what: "the requests of a holder that leaves, its release among them, and those that it" +
		" sends later, arrive 1.4 leases late, when another one is inside",
		inject: func(c *cell, s *seat) {
			c.stay(s)
			s.path.Hold(tcpproxy.Requests, true)
			c.check("leave", s.process.Send(sayLeave))
		}, lasts: beyond,
		heal: func(c *cell, s *seat) {
			other := c.seats[(s.number+1)%len(c.seats)]
			c.stay(other)
			s.path.Hold(tcpproxy.Requests, false)
			time.Sleep(briefly(c)) // for what arrives, and who gets in by it
			c.check("leave", other.process.Send(sayLeave))
		}},
	{name: "replies lost", what: "five times, what a process that comes and goes sends takes effect, its replies are" +
		" lost, and its connections are cut after 0.2 s",
		inject: func(_ *cell, s *seat) {
			for range 5 {
				s.path.Hold(tcpproxy.Replies, true)
				time.Sleep(200 * time.Millisecond) // the fault itself
				s.path.CutAll()
				s.path.Hold(tcpproxy.Replies, false)
				time.Sleep(100 * time.Millisecond)
			}
		}, lasts: briefly, heal: nothing},
	{name: "latency", what: "a process that comes and goes has 15 ms more to the server and back, for 1.4 leases",
		inject: func(_ *cell, s *seat) { s.path.Latency(15 * time.Millisecond) }, lasts: beyond,
		heal: func(_ *cell, s *seat) { s.path.Latency(0) }},
	{name: "server frozen", what: "the server is stopped for 1.4 leases (SIGSTOP) while a holder stays",
		victim: staying, inject: func(c *cell, _ *seat) { c.place.freeze() }, lasts: beyond,
		heal: func(c *cell, _ *seat) { c.place.thaw() }},
	{name: "restart, data kept", what: "the server is killed and started again 0.7 s later, with all its data",
		victim: staying, durable: true,
		inject: func(c *cell, _ *seat) { c.place.crash() }, lasts: briefly,
		heal: func(c *cell, _ *seat) { c.place.restart() }},
	{name: "restart, data lost", what: "the same with a Redis that keeps nothing on disk",
		victim: staying, stores: []store{onRedis},
		inject: func(c *cell, _ *seat) { c.place.crash() }, lasts: briefly,
		heal: func(c *cell, _ *seat) { c.place.restart() }},
	{name: "failover, lock lost", what: "Redis's replica stops receiving, a holder gets the lock, the primary is" +
		" killed, and the replica promoted", victim: staying, stores: []store{onRedis}, layout: replicated,
		before: func(c *cell) { c.place.detach() },
		inject: func(c *cell, _ *seat) { c.place.promote() }, lasts: briefly,
		heal: func(c *cell, _ *seat) { c.redirect() }},
	{name: "Sentinel failover, lock lost", what: "with a failover client: Redis's replica stops receiving, a holder" +
		" gets the lock, the primary is killed, and three Sentinels promote the replica",
		victim: staying, stores: []store{onRedis}, layout: watched,
		before: func(c *cell) { c.place.detach() },
		inject: func(c *cell, _ *seat) { c.place.crash() }, lasts: briefly,
		heal: func(c *cell, _ *seat) { c.place.prepare() }},
	{name: "its server cut off", what: "three ZooKeepers: the holder's server is cut off from the others for 1.4" +
		" leases; the other processes are connected to the leader",
		victim: staying, stores: []store{onZooKeeper}, layout: agreeing,
		before: func(c *cell) { c.gather() },
		inject: func(c *cell, s *seat) {
			c.place.detach()
			c.scatter(s)
		}, lasts: beyond, heal: func(c *cell, _ *seat) { c.place.prepare() }},
	{name: "server's clock ahead", what: "the clock of Redis is set forward by 1.4 leases while a holder stays",
		victim: staying, stores: []store{onRedis}, layout: clocked,
		inject: func(c *cell, _ *seat) { c.place.step(beyond(c)) }, lasts: briefly, heal: nothing},
	{name: "server's clock back", what: "the holder's process is killed, and another one started, and the clock of" +
		" Redis is set back by a lease",
		victim: killed, stores: []store{onRedis}, layout: clocked,
		inject: func(c *cell, s *seat) {
			c.kill(s)
			c.place.step(-c.entry.lease)
		}, lasts: briefly, heal: func(c *cell, s *seat) { c.occupy(s) }},
}
