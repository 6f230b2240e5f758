package history

import (
	"math/rand/v2"
	"sync"
	"time"
)

// ensembleKinds are faults of servers of ZooKeeper, after which those that are left agree on the next leader.
var ensembleKinds = []fault{
	{"leader stopped briefly", onServer((*zookeeperGround).leader, 1, 2, (*zookeeperGround).freeze)},
	{"leader stopped for long", onServer((*zookeeperGround).leader, 11, 16, (*zookeeperGround).freeze)},
	{"follower stopped", onServer((*zookeeperGround).follower, 3, 16, (*zookeeperGround).freeze)},
	{"leader killed", onServer((*zookeeperGround).leader, 0, 12, (*zookeeperGround).kill)},
	{"follower killed", onServer((*zookeeperGround).follower, 0, 12, (*zookeeperGround).kill)},
	{"leader cut off from the others", onServer((*zookeeperGround).leader, 3, 16, (*zookeeperGround).cut)},
	{"follower cut off from the others", onServer((*zookeeperGround).follower, 3, 16, (*zookeeperGround).cut)},
	{"leader severed from the others", onServer((*zookeeperGround).leader, 1, 8, (*zookeeperGround).sever)},
	{"follower severed from the others", onServer((*zookeeperGround).follower, 1, 8, (*zookeeperGround).sever)},
	{"all servers killed", killEnsemble},
	{"client cut off from one server", cutOffFromOneServer},
	{"waiter's node deleted", deleteWaitersNode},
}

// onServer has one server meet a fault, which ends after from to to tenths of a lease.
func onServer(
	which func(*zookeeperGround, *rand.Rand) int, from, to int, set func(g *zookeeperGround, member int, on bool),
) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		member := which(r.zookeeper(), random)
		set(r.zookeeper(), member, true)
		time.Sleep(r.between(random, from, to)) // the fault itself
		set(r.zookeeper(), member, false)
		return 1
	}
}

func (g *zookeeperGround) leader(*rand.Rand) int { return g.Leader(g.lab) }

func (g *zookeeperGround) follower(random *rand.Rand) int {
	return (g.Leader(g.lab) + 1 + random.IntN(len(g.Members)-1)) % len(g.Members)
}

func (g *zookeeperGround) freeze(member int, on bool) {
	if on {
		g.Members[member].Freeze()
	} else {
		g.Members[member].Resume()
	}
}

func (g *zookeeperGround) kill(member int, on bool) {
	if on {
		g.Members[member].Kill()
	} else {
		g.Members[member].Restart()
	}
}

// cut lets clients reach the server as before, and tells nobody. After sever the servers know.
func (g *zookeeperGround) cut(member int, on bool)   { g.Cut(member, on) }
func (g *zookeeperGround) sever(member int, on bool) { g.Sever(member, on) }

// cutOffFromOneServer cuts one client off from one server.
func cutOffFromOneServer(r *run, random *rand.Rand) int {
	path := r.anySeat(random).paths[random.IntN(len(r.zookeeper().Members))]
	path.Blackhole(true)
	r.lasting(random, 3, 20, func() { path.Blackhole(false) })
	return 1
}

// killEnsemble kills all servers. What they had agreed on is there when they are started again.
func killEnsemble(r *run, random *rand.Rand) int {
	for _, member := range r.zookeeper().Members {
		member.Kill()
	}
	time.Sleep(r.between(random, 0, 8)) // the fault itself
	var starting sync.WaitGroup
	for _, member := range r.zookeeper().Members { // none serves alone
		starting.Go(member.Restart)
	}
	starting.Wait()
	return 1
}

// deleteWaitersNode deletes the node of a waiter, while another has the lock: its caller asks again, and comes last.
func deleteWaitersNode(r *run, random *rand.Rand) int {
	name := names[random.IntN(len(names))]
	nodes, err := r.zookeeper().standing(name)
	if err != nil {
		r.fail(err)
		return 0
	}
	if len(nodes) < 2 {
		return 0
	}
	done, err := r.zookeeper().admin.DeleteBeside(nodes[1+random.IntN(len(nodes)-1)], nodes[0])
	if err != nil {
		r.fail(err)
	}
	if !done {
		return 0
	}
	return 1
}
