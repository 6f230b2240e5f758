package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

// fault is a kind of fault. inject returns how often it happened: a lost reply needs a request, which a
// waiting client might not send.
type fault struct {
	name   string
	inject func(*run, *rand.Rand) int
}

// pathKinds are faults of a client's path to Redis.
var pathKinds = []fault{
	{"reply dropped", onScripts(faultproxy.DropReply)},
	{"reply cut short", onScripts(faultproxy.CutReplyAt(2))},
	{"cut after the effect", onScripts(faultproxy.CutAfter)},
	{"cut before the effect", onScripts(faultproxy.CutBefore)},
	{"request dropped", onScripts(faultproxy.DropRequest)},
	{"request cut short", onScripts(faultproxy.CutRequestAt(9))},
	{"request duplicated", onScripts(faultproxy.Duplicate)},
	{"request duplicated later", gated(faultproxy.AnyScript, faultproxy.DuplicateLater)},
	{"release duplicated later", gated(releases, faultproxy.DuplicateLater)},
	{"request late", gated(faultproxy.AnyScript, faultproxy.Late)},
	{"request held", gated(faultproxy.AnyScript, faultproxy.HoldRequest)},
	{"reply held", gated(faultproxy.AnyScript, faultproxy.HoldReply)},
	{"request delayed", delayed},
	{"latency", latency},
	{"messages swallowed", swallow},
	{"client blackholed", blackhole},
	{"client blackholed after a slow renewal", fade},
}

// anywhere are faults of the clients, their connections and the scripts, on whatever site.
var anywhere = []fault{
	{"connections killed", killConnections("normal")},
	{"subscriptions killed", killConnections("pubsub")},
	{"scripts flushed", flushScripts},
	{"client stopped briefly", stopClient(3, 6)},
	{"client stopped for long", stopClient(12, 20)},
	{"client killed", killClient},
}

// stops are faults of a server that is not replaced.
var stops = []fault{
	{"server stopped briefly", stopServer(3, 7)},
	{"server stopped for long", stopServer(11, 16)},
}

// releases matches the requests whose late copies could do the most harm.
func releases(r faultproxy.Request) bool { return faultproxy.Script(luacall.SHA("release"))(r) }

// between returns a duration from a to b tenths of the lease.
func (r *run) between(random *rand.Rand, a, b int) time.Duration {
	return r.cfg.Lease * time.Duration(10*a+random.IntN(10*(b-a)+1)) / 100
}

// fired waits until a rule has fired n times, or for two leases. It ends the rule and returns how often it
// fired.
func (r *run) fired(rule *faultproxy.Rule, n int) int {
	for end := time.Now().Add(2 * r.cfg.Lease); rule.Fired() < n && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	rule.Times(0)
	return min(rule.Fired(), n)
}

// onScripts applies an action to one to three requests of one client, the next ones that match.
func onScripts(action faultproxy.Action) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		n := 1 + random.IntN(3)
		rule := r.seats[random.IntN(len(r.seats))].proxy.On(faultproxy.AnyScript, action).Times(n)
		return min(r.fired(rule, n), 1)
	}
}

// gated holds back the effect of a request or its copy, for up to two leases: beyond every not-after, and
// beyond the hold itself.
func gated(
	match faultproxy.Match, action func(*faultproxy.Gate) faultproxy.Action,
) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		gate := faultproxy.NewGate()
		rule := r.seats[random.IntN(len(r.seats))].proxy.On(match, action(gate))
		later := r.between(random, 1, 20)
		if r.fired(rule, 1) == 0 {
			gate.Open()
			return 0
		}
		r.background(func() {
			time.Sleep(later)
			gate.Open()
		})
		return 1
	}
}

func delayed(r *run, random *rand.Rand) int {
	n := 1 + random.IntN(3)
	rule := r.seats[random.IntN(len(r.seats))].proxy.On(
		faultproxy.AnyScript, faultproxy.Delay(r.between(random, 1, 12))).Times(n)
	return min(r.fired(rule, 1), 1)
}

// latency slows the whole path of one client, by less than the limit of a command, or by more.
func latency(r *run, random *rand.Rand) int {
	s := r.seats[random.IntN(len(r.seats))]
	s.proxy.Latency(r.between(random, 0, 2) / 2)
	r.lasting(random, 2, 10, func() { s.proxy.Latency(0) })
	return 1
}

func swallow(r *run, random *rand.Rand) int {
	s := r.seats[random.IntN(len(r.seats))]
	s.proxy.SwallowMessages(true)
	r.lasting(random, 5, 20, func() { s.proxy.SwallowMessages(false) })
	return 1
}

// blackhole cuts one client off, for less than its lease or for more.
func blackhole(r *run, random *rand.Rand) int {
	s := r.seats[random.IntN(len(r.seats))]
	s.proxy.Blackhole(true)
	r.lasting(random, 3, 20, func() { s.proxy.Blackhole(false) })
	return 1
}

// fade delays the reply to a renewal by nearly as much as allowed, and once the client has it, cuts the
// client off for longer than a lease: so its last confirmation was a late one.
func fade(r *run, random *rand.Rand) int {
	s, gate := r.seats[random.IntN(len(r.seats))], faultproxy.NewGate()
	rule := s.proxy.On(faultproxy.Script(luacall.SHA("renew")), faultproxy.HoldReply(gate))
	if r.fired(rule, 1) == 0 {
		gate.Open()
		return 0
	}
	limit := r.cfg.Lease / 6
	time.Sleep(limit * 4 / 5) // the fault itself
	gate.Open()
	select {
	case <-gate.Delivered():
	case <-time.After(limit):
		return 0 // its connection was cut meanwhile
	}
	s.proxy.Blackhole(true)
	r.lasting(random, 12, 16, func() { s.proxy.Blackhole(false) })
	return 1
}

func killConnections(kind string) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		killed := 0
		for range 1 + random.IntN(4) {
			for _, admin := range r.admins {
				n, err := admin.ClientKillByFilter(context.Background(), "TYPE", kind).Result()
				if err != nil {
					r.fail(fmt.Errorf("CLIENT KILL: %w", err))
				}
				killed += int(n)
			}
			time.Sleep(r.between(random, 0, 1))
		}
		return min(killed, 1)
	}
}

func flushScripts(r *run, random *rand.Rand) int {
	for range 1 + random.IntN(20) {
		for _, admin := range r.admins {
			if err := admin.ScriptFlush(context.Background()).Err(); err != nil {
				r.fail(fmt.Errorf("SCRIPT FLUSH: %w", err))
			}
		}
		time.Sleep(time.Millisecond)
	}
	return 1
}

// stopClient stops a client process for from to to tenths of its lease.
func stopClient(from, to int) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		s := r.seats[random.IntN(len(r.seats))]
		if !s.seize() { // it is stopped already, or being replaced
			return 0
		}
		if err := s.current().Signal(syscall.SIGSTOP); err != nil {
			r.fail(err)
		}
		r.lasting(random, from, to, func() {
			defer s.yield()
			if err := s.current().Signal(syscall.SIGCONT); err != nil {
				r.fail(err)
			}
		})
		return 1
	}
}

// killClient kills a client process, and starts another in its seat.
func killClient(r *run, random *rand.Rand) int {
	s := r.seats[random.IntN(len(r.seats))]
	if !s.seize() {
		return 0
	}
	defer s.yield()
	if err := r.replace(s); err != nil {
		r.fail(err)
		return 0
	}
	return 1
}

// stopServer stops Redis for from to to tenths of a lease. It executes what it received meanwhile when it
// runs again.
func stopServer(from, to int) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		server := r.servers[random.IntN(len(r.servers))]
		server.Stop()
		time.Sleep(r.between(random, from, to)) // the fault itself
		server.Continue()
		return 1
	}
}
