package history

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

// pathKinds are faults of a client's path to Redis. Where one request of a connection gets no answer though the
// connection goes on, the client is one of ours, which uses no connection after that. Redisson does, and a network
// loses nothing from the middle of a stream.
var pathKinds = []fault{
	{"reply dropped", onScripts((*run).ourSeat, faultproxy.DropReply)},
	{"reply cut short", onScripts((*run).anySeat, faultproxy.CutReplyAt(2))},
	{"cut after the effect", onScripts((*run).anySeat, faultproxy.CutAfter)},
	{"cut before the effect", onScripts((*run).anySeat, faultproxy.CutBefore)},
	{"request dropped", onScripts((*run).ourSeat, faultproxy.DropRequest)},
	{"request cut short", onScripts((*run).anySeat, faultproxy.CutRequestAt(9))},
	{"request duplicated", onScripts((*run).anySeat, faultproxy.Duplicate)},
	{"request duplicated later", gated((*run).anySeat, faultproxy.AnyScript, faultproxy.DuplicateLater)},
	{"release duplicated later", gated((*run).ourSeat, releases, faultproxy.DuplicateLater)},
	{"request late", gated((*run).ourSeat, faultproxy.AnyScript, faultproxy.Late)},
	{"request held", gated((*run).anySeat, faultproxy.AnyScript, faultproxy.HoldRequest)},
	{"reply held", gated((*run).anySeat, faultproxy.AnyScript, faultproxy.HoldReply)},
	{"request delayed", delayed},
	{"latency", latency},
	{"messages swallowed", swallow},
	{"client blackholed", blackhole},
	{"client blackholed after a slow renewal", fade},
}

// releases matches the requests whose late copies could do the most harm.
func releases(r faultproxy.Request) bool { return faultproxy.Script(luacall.SHA("release"))(r) }

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
func onScripts(of func(*run, *rand.Rand) *seat, action faultproxy.Action) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		n := 1 + random.IntN(3)
		rule := of(r, random).proxy.On(faultproxy.AnyScript, action).Times(n)
		return min(r.fired(rule, n), 1)
	}
}

// gated holds back the effect of a request or its copy, for up to two leases: beyond every not-after, and
// beyond the hold itself.
func gated(
	of func(*run, *rand.Rand) *seat, match faultproxy.Match, action func(*faultproxy.Gate) faultproxy.Action,
) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		gate := faultproxy.NewGate()
		rule := of(r, random).proxy.On(match, action(gate))
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
	rule := r.anySeat(random).proxy.On(
		faultproxy.AnyScript, faultproxy.Delay(r.between(random, 1, 12))).Times(n)
	return min(r.fired(rule, 1), 1)
}

// latency slows the whole path of one client, by less than the limit of a command, or by more.
func latency(r *run, random *rand.Rand) int {
	s := r.anySeat(random)
	s.proxy.Latency(r.between(random, 0, 2) / 2)
	r.lasting(random, 2, 10, func() { s.proxy.Latency(0) })
	return 1
}

func swallow(r *run, random *rand.Rand) int {
	s := r.anySeat(random)
	s.proxy.SwallowMessages(true)
	r.lasting(random, 5, 20, func() { s.proxy.SwallowMessages(false) })
	return 1
}

// blackhole cuts one client off, for less than its lease or for more.
func blackhole(r *run, random *rand.Rand) int {
	s := r.anySeat(random)
	s.proxy.Blackhole(true)
	r.lasting(random, 3, 20, func() { s.proxy.Blackhole(false) })
	return 1
}

// fade delays the reply to a renewal by nearly as much as allowed, and once the client has it, cuts the
// client off for longer than a lease: so its last confirmation was a late one.
func fade(r *run, random *rand.Rand) int {
	s, gate := r.ourSeat(random), faultproxy.NewGate()
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
