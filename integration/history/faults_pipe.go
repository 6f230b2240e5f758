package history

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// pipeKinds are faults of a client's paths to PostgreSQL or etcd.
var pipeKinds = []fault{
	{"client blackholed", onPaths(3, 20, (*tcpproxy.Proxy).Blackhole)},
	{"connections forgotten", onPaths(3, 20, forget)},
	{"requests late", onPaths(1, 20, func(p *tcpproxy.Proxy, on bool) { p.Hold(tcpproxy.Requests, on) })},
	{"replies late", onPaths(1, 20, func(p *tcpproxy.Proxy, on bool) { p.Hold(tcpproxy.Replies, on) })},
	{"path slow", slowPaths},
	{"paths cut", cutPaths},
	{"answers lost with their connections", loseAnswers},
}

// onPaths switches a state of one client's paths on, and later off.
func onPaths(from, to int, set func(p *tcpproxy.Proxy, on bool)) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		s := r.anySeat(random)
		all := func(on bool) {
			for _, p := range s.paths {
				set(p, on)
			}
		}
		all(true)
		r.lasting(random, from, to, func() { all(false) })
		return 1
	}
}

// forget has the connections of a path lose everything from now on, and ends them later. New ones work.
func forget(p *tcpproxy.Proxy, on bool) {
	if on {
		p.Forget()
	} else {
		p.Blackhole(false)
	}
}

// slowPaths delays everything that one client sends or receives, by less than the limit of a request, or by more.
func slowPaths(r *run, random *rand.Rand) int {
	latency := r.between(random, 0, 2) / 2
	return onPaths(2, 10, func(p *tcpproxy.Proxy, on bool) {
		if !on {
			latency = 0
		}
		p.Latency(latency)
	})(r, random)
}

// cutPaths cuts the connections of one client, a few times.
func cutPaths(r *run, random *rand.Rand) int {
	s := r.anySeat(random)
	for range 1 + random.IntN(4) {
		for _, p := range s.paths {
			p.CutAll()
		}
		time.Sleep(r.between(random, 0, 1))
	}
	return 1
}

// loseAnswers cuts the connections of one client when requests may have been carried out whose answers it has not, and
// refuses it new ones for a while.
func loseAnswers(r *run, random *rand.Rand) int {
	s := r.anySeat(random)
	for _, p := range s.paths {
		p.Hold(tcpproxy.Replies, true)
	}
	time.Sleep(r.between(random, 0, 2) / 2) // the fault itself, which must not be longer than a request may take
	for _, p := range s.paths {
		p.Refuse(true)
		p.CutAll()
		p.Hold(tcpproxy.Replies, false)
	}
	r.lasting(random, 0, 8, func() {
		for _, p := range s.paths {
			p.Refuse(false)
		}
	})
	return 1
}
