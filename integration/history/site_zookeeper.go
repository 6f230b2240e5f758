package history

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/integration/internal/zkadmin"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// zookeeperGround are the servers of a run on ZooKeeper. Each client has a path of its own to each of them.
type zookeeperGround struct {
	*zktest.Ensemble
	lab   *lenient
	admin *zkadmin.Admin // straight to all of them
}

// zookeeperRoot is the node below which the locks are.
const zookeeperRoot = "/holdfast/locks"

// buildZooKeeper starts the servers of a run on ZooKeeper, and makes the paths to them. A member that stands still is
// noticed by the others within a lease.
func (r *run) buildZooKeeper(lab *lenient) ground {
	g := &zookeeperGround{lab: lab, Ensemble: zktest.StartEnsemble(lab, 3, zktest.Options{
		Config: []string{"initLimit=8", "syncLimit=8"},
	})}
	g.admin = zkadmin.Connect(lab, g.Addrs()...)
	for _, s := range r.seats {
		var addresses []string
		for _, member := range g.Members {
			path := tcpproxy.Start(lab, member.Addr())
			s.paths, addresses = append(s.paths, path), append(addresses, path.Addr())
		}
		s.addr = strings.Join(addresses, ",")
	}
	return g
}

// dialZooKeeper makes the client with which a process of the run locks on ZooKeeper.
func dialZooKeeper(o orders) (lock.Provider, func() error, error) {
	c, err := zklock.NewClient(strings.Split(o.Addr, ","), &zklock.Options{
		Lease: o.Lease, MaxPoll: o.Lease / 3, ReleaseTimeout: 2 * o.Lease, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// standing are the nodes below a name, the first that was made first. Their numbers are what their names end with.
func (g *zookeeperGround) standing(name string) (all []string, err error) {
	nodes, err := g.admin.Below(zookeeperRoot + "/" + name)
	for _, node := range nodes {
		all = append(all, zookeeperRoot+"/"+name+"/"+node)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return all, err
}

// held implements [ground].
func (g *zookeeperGround) held() (all []string, err error) {
	names, err := g.admin.Below(zookeeperRoot)
	for i := 0; err == nil && i < len(names); i++ {
		var some []string
		some, err = g.standing(names[i])
		all = append(all, some...)
	}
	return all, err
}

// listened implements [ground]: it tells which servers have watches of clients.
func (g *zookeeperGround) listened() (all []string, err error) {
	for _, member := range g.Members {
		n, err := member.Metric("zk_watch_count")
		if err != nil {
			return nil, err
		}
		if n > 0 {
			all = append(all, fmt.Sprintf("%v at %s", n, member.Addr()))
		}
	}
	return all, nil
}

// connections implements [ground]. Clients that were closed have ended their sessions, and the sessions of those that
// were killed have ended by themselves. One session is the run's own.
func (g *zookeeperGround) connections() (all []string, err error) {
	n, err := g.Members[g.Leader(g.lab)].Metric("zk_global_sessions")
	if err == nil && n > 1 {
		all = append(all, fmt.Sprintf("%v sessions", n-1))
	}
	return all, err
}
