package etcdlock_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
)

// Nothing on etcd depends on deadlines of connections: requests are bounded by their contexts, whatever the application
// dials with. (defect G52)
func TestConnectionsWithoutDeadlines(t *testing.T) {
	t.Parallel()
	path := &netfault.Path{}
	c := client(t, connectAs(t, clientv3.Config{
		Endpoints: []string{etcdtest.Shared(t).Endpoint()},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := path.Dial(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return netfault.Tunnel{Conn: conn}, nil
		})},
	}), etcdlock.Options{Lease: 4 * brief})
	name := nameOf(t)
	held, unlock := take(t, c.Lock(name))
	require.Positive(t, path.Forget())
	taken(t, c.Lock(name+"-other"))
	require.NoError(t, held.Err())
	path.Silence(true)
	_, _, err := c.Lock(name + "-other").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorIs(t, unlock(), lock.ErrUnconfirmed)
	require.NoError(t, c.Close())
}
