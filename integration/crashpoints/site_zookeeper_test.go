package crashpoints_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/internal/zkadmin"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/zklock"
)

// ZooKeeper lacks what etcd does: its leases are as long, and it is told as little.
var zookeeperSite = site{
	start: startZooKeeper, dial: dialZooKeeper, pace: etcdPace, poll: maxPoll, lacks: etcdSite.lacks,
}

// zookeeperServer is a ZooKeeper of a pair's own, and the path on which its clients reach it.
type zookeeperServer struct {
	t      *testing.T
	server *zktest.Server
	path   *tcpproxy.Proxy
	admin  *zkadmin.Admin // straight to the server
}

func startZooKeeper(t *testing.T, _ action) server {
	t.Helper()
	s := &zookeeperServer{t: t, server: zktest.Start(t, zktest.Options{})}
	s.path = tcpproxy.Start(t, s.server.Addr())
	s.admin = zkadmin.Connect(t, s.server.Addr())
	return s
}

func dialZooKeeper(addr string) (*dialled, error) {
	return &dialled{
		client: func(lease time.Duration) (client, error) {
			return zklock.NewClient([]string{addr}, &zklock.Options{
				Lease: lease, MaxPoll: maxPoll, ReleaseTimeout: etcdPace * releaseTimeout,
				Logger: slog.New(slog.DiscardHandler),
			})
		},
		hangUp: func() {},
	}, nil
}

func (s *zookeeperServer) addr() string { return s.path.Addr() }

// below are the nodes below another; none if that is not there.
func (s *zookeeperServer) below(path string) (all []string) {
	names, err := s.admin.Below(path)
	require.NoError(s.t, err)
	for _, name := range names {
		all = append(all, path+"/"+name)
	}
	return all
}

// empty implements [server]: all nodes of contenders go, as if data had been restored that have the base of tokens
// alone. A client that has read that goes on with it, so without it tokens would be those of two bases.
func (s *zookeeperServer) empty(gone func()) {
	for _, node := range s.left() {
		_, err := s.admin.Delete(node)
		require.NoError(s.t, err)
	}
	gone()
}

func (s *zookeeperServer) restart(gone func()) {
	s.server.Kill()
	gone()
	time.Sleep(away) // the fault itself: some calls find nobody
	s.server.Restart()
}

// deafen implements [server]. What is watched and what is asked have connections in common.
func (s *zookeeperServer) deafen() int { return s.path.CutAll() }

// forget implements [server]: the connections.
func (s *zookeeperServer) forget() { s.path.CutAll() }

func (s *zookeeperServer) held() bool { return len(s.below("/holdfast/locks/"+lockName)) > 0 }

// left implements [server]: every node of a contender.
func (s *zookeeperServer) left() (all []string) {
	for _, name := range s.below("/holdfast/locks") {
		all = append(all, s.below(name)...)
	}
	return all
}

func (s *zookeeperServer) listened() []string {
	n, err := s.server.Metric("zk_watch_count")
	require.NoError(s.t, err)
	return slices.Repeat([]string{"a watch"}, int(n))
}
