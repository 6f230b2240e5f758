package etcdlock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
)

// through has a client of etcd's connect by a path.
func through(path *netfault.Path) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return path.Dial(ctx, "tcp", addr)
	})
}

// outlives asserts that a client takes and releases locks when its connections have just been forgotten, and renews what
// it holds from then on. (That this costs no call is for the suite of conformance to say: servers that are started here
// may be slow.)
func outlives(t *testing.T, config clientv3.Config, opts etcdlock.Options, meanwhile ...func(cli *clientv3.Client)) {
	t.Helper()
	path, renewed := &netfault.Path{}, make(chan struct{}, 1)
	config.DialOptions = []grpc.DialOption{through(path)}
	opts.Observer = &lock.Observer{Renewed: func(r lock.Renewal) {
		if r.Err != nil {
			return
		}
		select {
		case renewed <- struct{}{}:
		default:
		}
	}}
	cli := connectAs(t, config)
	c := client(t, cli, opts)
	for _, do := range meanwhile {
		go do(cli)
	}
	held, unlock := take(t, c.Lock("app/a"))
	await(t, renewed, "a renewal")
	for range 2 {
		require.Positive(t, path.Forget())
		taken(t, c.Lock("app/b"))
		select {
		case <-renewed: // before
		default:
		}
		await(t, renewed, "a renewal")
		require.NoError(t, context.Cause(held))
	}
	require.NoError(t, unlock())
}

// A client whose user has a password logs in for each stream that it opens, by a connection that is not forgotten.
// (defect G3)
func TestForgottenConnectionsOfAUserWithAPassword(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	withUsers(t, server)
	outlives(t, clientv3.Config{Endpoints: []string{server.Endpoint()}, Username: "app", Password: password},
		etcdlock.Options{Lease: 4 * brief})
}

// The application may set the endpoints of such a client at any time, as clientv3 itself does with AutoSyncInterval. (The
// race detector tells.)
func TestEndpointsThatAreSetMeanwhile(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	withUsers(t, server)
	ctx, stop := context.WithCancel(within(t))
	over := make(chan struct{})
	outlives(t, clientv3.Config{Endpoints: []string{server.Endpoint()}, Username: "app", Password: password},
		etcdlock.Options{Lease: 4 * brief}, func(cli *clientv3.Client) {
			defer close(over)
			for ctx.Err() == nil {
				cli.SetEndpoints(server.Endpoint())
				time.Sleep(time.Millisecond)
			}
		})
	stop()
	<-over
}

// So are the connections to several servers. (defect G3)
func TestForgottenConnectionsToSeveralServers(t *testing.T) {
	t.Parallel()
	outlives(t, clientv3.Config{Endpoints: etcdtest.StartCluster(t).Endpoints()}, etcdlock.Options{Lease: 4 * brief})
}

// A server that stands still, whose connections look well, costs no call: the request that met it is sent to another.
// (defect G3)
func TestAServerThatStandsStillCostsNoCall(t *testing.T) {
	t.Parallel()
	servers := etcdtest.StartCluster(t)
	c := client(t, connectAs(t, clientv3.Config{Endpoints: servers.Endpoints()}), etcdlock.Options{Lease: 3 * brief})
	held, unlock := take(t, c.Lock("app/a"))
	still := (servers.Leader(t) + 1) % len(servers.Members)
	servers.Members[still].Freeze()
	for range 12 {
		_, release, err := c.Lock("app/b").TryLock(within(t))
		require.NoError(t, err)
		require.NoError(t, release())
	}
	require.NoError(t, held.Err())
	servers.Members[still].Thaw()
	require.NoError(t, unlock())
	_, _, err := c.Lock("app/b", lock.MaxWait(holding.Patience)).Lock(within(t))
	require.NoError(t, err)
}
