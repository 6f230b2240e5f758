package etcdstore

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

// A renewal looks at the keys only if they may have been deleted since the last look: something was written to etcd, or
// the answer to the keep-alive does not show that nothing was.
func TestARenewalWithoutALook(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t) // to which nobody else writes
	var transactions atomic.Int64
	counted := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if strings.HasSuffix(method, "/Txn") {
			transactions.Add(1)
		}
		return send(ctx, method, req, reply, conn, opts...)
	}
	s, cli := startedAt(t, server.Endpoint(), "own/", grpc.WithChainUnaryInterceptor(counted))
	l := s.Lock("name")
	require.Equal(t, store.Held, asks(t, l, "id").Status)
	looks := func(why string, want int64) {
		t.Helper()
		before := transactions.Load()
		age(s, s.lease/2)
		require.NoError(t, renew(t, s, l).Err)
		require.Equal(t, want, transactions.Load()-before, why)
	}
	looks("the first stream for keep-alives may be to a server that goes on from a snapshot", 1)
	looks("nothing was written since the key was seen", 0)
	looks("and nothing since", 0)

	_, err := cli.Put(t.Context(), "other", "")
	require.NoError(t, err)
	looks("something was", 1)
	looks("nothing since", 0)

	s.pulse.close() // the stream; the next keep-alive opens another
	looks("another stream may be to a server that goes on from a snapshot", 1)
	looks("it is the same stream as before", 0)

	s.past.mu.Lock()
	s.past.revision++
	s.past.mu.Unlock()
	looks("the server says less than was seen, so it lags behind or has gone back", 1)

	_, err = cli.Delete(t.Context(), l.prefix, clientv3.WithPrefix())
	require.NoError(t, err)
	age(s, s.lease/2)
	requireGone(t, renew(t, s, l))
}
