package crashpoints_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// etcdPace makes the short leases 6 s and 18 s: those of etcd are whole seconds, and 5 s at least.
const etcdPace = 10

// etcd is not told how many levels a hold has, and exports none. A watch needs no confirmation: it begins at the revision
// that the waiter has seen.
var etcdSite = site{
	start: startEtcd, dial: dialEtcd, pace: etcdPace, poll: maxPoll,
	lacks: []crash.Point{
		crash.Count.Send, crash.Count.Reply, crash.Export.Send, crash.Export.Reply, crash.Adopt.Send, crash.Adopt.Reply,
		crash.Subscribed,
	},
}

// etcdServer is an etcd of a pair's own, and the path on which its clients reach it.
type etcdServer struct {
	t      *testing.T
	server *etcdtest.Server
	path   *tcpproxy.Proxy
	direct *clientv3.Client
}

func startEtcd(t *testing.T, _ action) server {
	t.Helper()
	s := &etcdServer{t: t, server: etcdtest.Start(t)}
	s.path = tcpproxy.Start(t, s.server.Addr())
	var err error
	s.direct, err = connectEtcd(s.server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.direct.Close() })
	return s
}

func connectEtcd(addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{"http://" + addr}, Logger: zap.NewNop()})
}

func dialEtcd(addr string) (*dialled, error) {
	cli, err := connectEtcd(addr)
	if err != nil {
		return nil, err
	}
	return &dialled{
		client: func(lease time.Duration) (client, error) {
			return etcdlock.NewClient(cli, &etcdlock.Options{
				Lease: lease, MaxPoll: maxPoll, ReleaseTimeout: etcdPace * releaseTimeout,
				Logger: slog.New(slog.DiscardHandler),
			})
		},
		hangUp: func() { _ = cli.Close() },
	}, nil
}

func (s *etcdServer) addr() string { return s.path.Addr() }

func (s *etcdServer) asking() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.t.Context(), patience)
}

// empty implements [server]: all keys and leases go, as if a snapshot had been restored that has the base of tokens
// alone. A client that has read that goes on with it, so without it tokens would be those of two bases.
func (s *etcdServer) empty(gone func()) {
	ctx, cancel := s.asking()
	defer cancel()
	leases, err := s.direct.Leases(ctx)
	require.NoError(s.t, err)
	for _, lease := range leases.Leases {
		_, err := s.direct.Revoke(ctx, lease.ID)
		require.NoError(s.t, err)
	}
	gone()
}

func (s *etcdServer) restart(gone func()) {
	s.server.Kill()
	gone()
	time.Sleep(away) // the fault itself: some calls find nobody
	s.server.Restart()
}

// deafen implements [server]. What is watched and what is asked have connections in common.
func (s *etcdServer) deafen() int { return s.path.CutAll() }

// forget implements [server]: the history, in which watches begin, and the connections.
func (s *etcdServer) forget() {
	ctx, cancel := s.asking()
	defer cancel()
	now, err := s.direct.Get(ctx, lockName)
	require.NoError(s.t, err)
	_, err = s.direct.Compact(ctx, now.Header.Revision)
	require.NoError(s.t, err)
	s.path.CutAll()
}

func (s *etcdServer) keys() (all []string) {
	ctx, cancel := s.asking()
	defer cancel()
	got, err := s.direct.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(s.t, err)
	for _, kv := range got.Kvs {
		all = append(all, string(kv.Key))
	}
	return all
}

func (s *etcdServer) held() bool {
	return slices.ContainsFunc(s.keys(), func(key string) bool { return strings.HasPrefix(key, lockName+"/") })
}

// left implements [server]: every key but the base of tokens.
func (s *etcdServer) left() []string {
	return slices.DeleteFunc(s.keys(), func(key string) bool { return key == "holdfast/base" })
}

func (s *etcdServer) listened() []string {
	n, err := s.server.Watches()
	require.NoError(s.t, err)
	return slices.Repeat([]string{"a watch"}, n)
}
