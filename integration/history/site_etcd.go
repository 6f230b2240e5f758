package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// etcdGround are the servers of a run on etcd. Each client has a path of its own to each of them.
type etcdGround struct {
	*etcdtest.Cluster
	lab   *lenient
	admin *clientv3.Client // straight to all of them
}

// lockPrefix begins the names of all locks.
const lockPrefix = "history-"

// buildEtcd starts the servers of a run on etcd, and makes the paths to them.
func (r *run) buildEtcd(lab *lenient) ground {
	g := &etcdGround{lab: lab, Cluster: etcdtest.StartCluster(lab)}
	admin, err := connectEtcd(g.Endpoints())
	if err != nil {
		lab.Fatalf("%v", err)
	}
	lab.Cleanup(func() { _ = admin.Close() })
	g.admin = admin
	for _, s := range r.seats {
		var endpoints []string
		for _, member := range g.Members {
			path := tcpproxy.Start(lab, member.Addr())
			s.paths, endpoints = append(s.paths, path), append(endpoints, "http://"+path.Addr())
		}
		s.addr = strings.Join(endpoints, ",")
	}
	return g
}

func connectEtcd(endpoints []string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
}

// dialEtcd makes the client with which a process of the run locks on etcd.
func dialEtcd(o orders) (lock.Provider, func() error, error) {
	cli, err := connectEtcd(strings.Split(o.Addr, ","))
	if err != nil {
		return nil, nil, err
	}
	c, err := etcdlock.NewClient(cli, &etcdlock.Options{
		Lease: o.Lease, MaxPoll: o.Lease / 3, ReleaseTimeout: 2 * o.Lease, Logger: slog.New(slog.DiscardHandler),
	})
	return c, func() error { return errors.Join(c.Close(), cli.Close()) }, err
}

// asking is a context for a request of the run's own.
func asking() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), settle)
}

// asked asks etcd, and again while that has nobody to serve the run's own client: the faults hit it, too, and servers
// that were killed are back before they agree.
func asked(ask func(ctx context.Context) error) (err error) {
	for end := time.Now().Add(settle); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := asking()
		err = ask(ctx)
		cancel()
		if !unserved(err) || time.Now().After(end) {
			return err
		}
	}
}

// unserved reports that nobody served a request, or its answer was lost.
func unserved(err error) bool {
	var told rpctypes.EtcdError
	return errors.As(rpctypes.Error(err), &told) && told.Code() == codes.Unavailable
}

// keys are those below a prefix, the first that was made first.
func (g *etcdGround) keys(prefix string) (all []string, err error) {
	var got *clientv3.GetResponse
	err = asked(func(ctx context.Context) (err error) {
		got, err = g.admin.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, kv := range got.Kvs {
		all = append(all, string(kv.Key))
	}
	return all, nil
}

// held implements [ground].
func (g *etcdGround) held() ([]string, error) { return g.keys(lockPrefix) }

// listened implements [ground]: it tells which servers have watches of clients.
func (g *etcdGround) listened() (all []string, err error) {
	for _, member := range g.Members {
		n, err := member.Watches()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			all = append(all, fmt.Sprintf("%d at %s", n, member.Addr()))
		}
	}
	return all, nil
}

// connections implements [ground]: a client that was closed has revoked its lease, on which its seals hang as well, and
// that of one that was killed has ended.
func (g *etcdGround) connections() (all []string, err error) {
	var leases *clientv3.LeaseLeasesResponse
	err = asked(func(ctx context.Context) (err error) {
		leases, err = g.admin.Leases(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, lease := range leases.Leases {
		all = append(all, fmt.Sprintf("lease %x", int64(lease.ID)))
	}
	seals, err := g.keys("holdfast/sealed/")
	return append(all, seals...), err
}
