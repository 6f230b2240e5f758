package history

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// fault is a kind of fault. inject returns how often it happened: a lost reply needs a request, which a
// waiting client might not send.
type fault struct {
	name   string
	inject func(*run, *rand.Rand) int
}

// siteKinds are the faults of each site. Nothing is forgotten by any of them.
var siteKinds = map[Site][]fault{
	Single:   slices.Concat(pathKinds, connectionKinds, clientKinds, stops),
	Cluster:  slices.Concat([]fault{{"slot migrated", migrateSlot}}, connectionKinds, clientKinds, stops),
	Sentinel: slices.Concat([]fault{{"failover", failOver}}, connectionKinds, clientKinds),
	Quorum:   slices.Concat([]fault{{"node restarted empty", restartNode}}, connectionKinds, clientKinds, stops),
	Postgres: slices.Concat(pipeKinds, backendKinds, primaryKinds, standbyKinds, clientKinds),
	Deposed:  slices.Concat(deposedKinds, pipeKinds, backendKinds, clientKinds),
	Bouncer:  slices.Concat(pipeKinds, backendKinds, primaryKinds, clientKinds),
	Etcd:     slices.Concat(pipeKinds, memberKinds, historyKinds, clientKinds),
	Thawed:   slices.Concat(thawedKinds, pipeKinds, clientKinds),

	ZooKeeper: slices.Concat(pipeKinds, ensembleKinds, clientKinds),
}

// lossKinds make the store of a site forget.
var lossKinds = map[Site][]fault{
	Single: redisLosses, Postgres: postgresLosses, Etcd: etcdLosses,
	ZooKeeper: zookeeperLosses,
}

// clientKinds are faults of the client processes.
var clientKinds = []fault{
	{"client stopped briefly", stopClient(3, 6)},
	{"client stopped for long", stopClient(12, 20)},
	{"client killed", killClient},
}

// between returns a duration from a to b tenths of the lease.
func (r *run) between(random *rand.Rand, a, b int) time.Duration {
	return r.cfg.Lease * time.Duration(10*a+random.IntN(10*(b-a)+1)) / 100
}

// stopClient stops a client process for from to to tenths of its lease.
func stopClient(from, to int) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		s := r.anySeat(random)
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
	s := r.anySeat(random)
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
