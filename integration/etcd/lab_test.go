package etcd

import (
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/contest"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) {
	servers.InParallel(2) // each has three servers, which must not take one another for dead
	etcdtest.Main(m)
}

const (
	// patience bounds every wait for something that must happen. Nothing is measured against it.
	patience = 2 * time.Minute
	// lease is the shortest that is recommended where a server that stands still must end no hold.
	lease = 15 * time.Second
)

// lab is three servers, and paths to them that all its clients use.
type lab struct {
	*etcdtest.Cluster
	paths []*tcpproxy.Proxy
	lease time.Duration // of all clients
}

func open(t *testing.T, flags ...string) *lab {
	t.Helper()
	l := &lab{Cluster: etcdtest.StartCluster(t, flags...), lease: lease}
	for _, s := range l.Members {
		l.paths = append(l.paths, tcpproxy.Start(t, s.Addr()))
	}
	return l
}

// client makes a client, as of a process of its own, of some members, or else of all.
func (l *lab) client(t *testing.T, opts etcdlock.Options, members ...int) *etcdlock.Client {
	t.Helper()
	config := clientv3.Config{Logger: zap.NewNop()}
	for i, path := range l.paths {
		if len(members) == 0 || slices.Contains(members, i) {
			config.Endpoints = append(config.Endpoints, "http://"+path.Addr())
		}
	}
	cli, err := clientv3.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	opts.Lease, opts.Logger = l.lease, slog.New(slog.NewTextHandler(io.Discard, nil))
	c, err := etcdlock.NewClient(cli, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// play has two clients take turns.
func (l *lab) play(t *testing.T) *contest.Team {
	t.Helper()
	return contest.Play(t, [2]lock.Provider{l.client(t, etcdlock.Options{}), l.client(t, etcdlock.Options{})})
}

// keep has a client hold a lock all the time.
func (l *lab) keep(t *testing.T, name string) *contest.Keeper {
	t.Helper()
	return contest.Keep(t, func(o *lock.Observer) lock.Provider { return l.client(t, etcdlock.Options{Observer: o}) }, name)
}
