package etcdtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// Cluster is three servers that agree, each of which can be cut off from the others.
type Cluster struct {
	Members []*Server
	paths   [][]*tcpproxy.Proxy // from one member to another
}

// StartCluster starts three servers that know a leader. Flags are added to those of each command line.
func StartCluster(t testing.TB, flags ...string) *Cluster {
	t.Helper()
	c := &Cluster{}
	for _, name := range []string{"a", "b", "c"} {
		s, err := prepare(name, "etcd")
		if err != nil {
			t.Fatalf("etcdtest: %v", err)
		}
		s.belongsTo(t)
		c.Members = append(c.Members, s)
	}
	gates := c.openGates(t)
	all := make([]string, len(gates))
	for i, s := range c.Members {
		all[i] = s.name + "=" + gates[i]
	}
	for i, s := range c.Members {
		s.process.Args = slices.Concat(s.flags(gates[i]), []string{"--initial-cluster", strings.Join(all, ",")}, flags)
		if err := s.process.Start(); err != nil {
			t.Fatalf("etcdtest: %v", err)
		}
	}
	for _, s := range c.Members { // none is well before a majority runs
		if err := s.ready(); err != nil {
			t.Fatalf("etcdtest: %v", err)
		}
	}
	return c
}

// Endpoints returns the URLs of all members for clients.
func (c *Cluster) Endpoints() []string {
	all := make([]string, len(c.Members))
	for i, s := range c.Members {
		all[i] = s.Endpoint()
	}
	return all
}

// Leader waits until a member says that it is the leader, and returns its number. Members but those may be, which do
// not know yet that they are not.
func (c *Cluster) Leader(t testing.TB, but ...int) (leader int) {
	t.Helper()
	Eventually(t, func() bool {
		leader = slices.IndexFunc(c.Members, func(s *Server) bool {
			return !slices.Contains(but, slices.Index(c.Members, s)) && s.leads()
		})
		return leader >= 0
	}, "a member is the leader")
	return leader
}

// Cut switches a state on or off in which nothing passes between a member and the others. Clients reach it as before:
// for them there is package tcpproxy.
func (c *Cluster) Cut(member int, on bool) {
	for from, row := range c.paths {
		for to, path := range row {
			if from != to && (from == member || to == member) {
				path.Blackhole(on)
			}
		}
	}
}

// openGates makes the address of each member for the others, from which paths of their own lead to it, and returns the
// URLs.
func (c *Cluster) openGates(t testing.TB) (urls []string) {
	t.Helper()
	c.paths = make([][]*tcpproxy.Proxy, len(c.Members))
	for from := range c.Members {
		c.paths[from] = make([]*tcpproxy.Proxy, len(c.Members))
		for to, s := range c.Members {
			if from != to {
				c.paths[from][to] = tcpproxy.Start(t, s.peers.Addr())
			}
		}
	}
	for to := range c.Members {
		urls = append(urls, "http://"+openGate(t, c, to))
	}
	return urls
}

// from returns the number of the member whose process has a socket; -1: none has.
func (c *Cluster) from(socket string) int {
	return slices.IndexFunc(c.Members, func(s *Server) bool {
		return s.process.Alive() && servers.HasSocket(s.process.Pid(), socket)
	})
}
