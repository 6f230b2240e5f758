package etcdlock_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) {
	role.Play()
	etcdtest.ServeExamples()
	servers.InParallel(24) // they wait for leases
	etcdtest.Main(m)
}

const (
	// never is a poll interval: whatever wakes a waiter, it is not that.
	never = 10 * holding.Patience
	// brief is the shortest lease, for tests in which one ends.
	brief = 5 * time.Second
)

// What the tests of other stores do, too.
var (
	nameOf, within, take, taken = holding.Name, holding.Within, holding.Take, holding.Taken
	fenceOf, ended              = holding.Fence, holding.Ended
)

// connect makes the application's client of etcd.
func connect(t testing.TB, endpoint string, opts ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	return connectAs(t, clientv3.Config{Endpoints: []string{endpoint}, DialOptions: opts})
}

func connectAs(t testing.TB, config clientv3.Config) *clientv3.Client {
	t.Helper()
	config.Logger = zap.NewNop()
	cli, err := clientv3.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

// client makes a client that is closed with the test, whatever it still holds.
func client(t testing.TB, of *clientv3.Client, opts etcdlock.Options) *etcdlock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if opts.MaxPoll == 0 {
		opts.MaxPoll = never
	}
	c, err := etcdlock.NewClient(of, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// clients are n of them, as of n processes, on the server that the tests share, and a plain client of that.
func clients(t testing.TB, n int, opts etcdlock.Options) (all []*etcdlock.Client, plain *clientv3.Client) {
	t.Helper()
	endpoint := etcdtest.Shared(t).Endpoint()
	for range n {
		all = append(all, client(t, connect(t, endpoint), opts))
	}
	return all, connect(t, endpoint)
}

// turn is a hold, or why there is none.
type turn struct {
	held   context.Context
	unlock func() error
	err    error
}

// waits starts a Lock, and returns once its key stands in etcd, the last of as many below the name.
func waits(t testing.TB, plain *clientv3.Client, l *lock.Lock, keys int) <-chan turn {
	t.Helper()
	got := make(chan turn, 1)
	ctx := within(t)
	go func() {
		held, unlock, err := l.Lock(ctx)
		got <- turn{held, unlock, err}
	}()
	stand(t, plain, l.Name(), keys)
	return got
}

// has receives the hold of a waiter.
func has(t testing.TB, from <-chan turn) turn {
	t.Helper()
	got := await(t, from, "the waiter has the lock")
	require.NoError(t, got.err)
	return got
}

// stand waits until as many keys stand below a name, and returns them in their order.
func stand(t testing.TB, plain *clientv3.Client, name string, n int) (keys []string) {
	t.Helper()
	eventually(t, func() bool { keys = keysOf(t, plain, name+"/"); return len(keys) == n }, "keys stand below the name")
	return keys
}

// keysOf returns the keys below a prefix in the order in which they were made.
func keysOf(t testing.TB, plain *clientv3.Client, prefix string) (keys []string) {
	t.Helper()
	got, err := plain.Get(within(t), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	require.NoError(t, err)
	for _, kv := range got.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// leaseOf is the lease on which a key hangs.
func leaseOf(t testing.TB, plain *clientv3.Client, key string) clientv3.LeaseID {
	t.Helper()
	got, err := plain.Get(within(t), key)
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	return clientv3.LeaseID(got.Kvs[0].Lease)
}

// await receives what a goroutine sends.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	return servers.Receive(t, holding.Patience, from, what)
}

func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	etcdtest.Eventually(t, condition, what)
}
