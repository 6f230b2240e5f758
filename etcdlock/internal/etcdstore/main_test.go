package etcdstore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/watchdog"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = time.Minute

// started is a store on the server that the tests share, whose own keys are below a prefix.
func started(t *testing.T, own string) (*Store, *clientv3.Client) {
	t.Helper()
	return startedAt(t, etcdtest.Shared(t).Endpoint(), own)
}

// startedAt is one on another server, or on another way to it.
func startedAt(t *testing.T, endpoint, own string, opts ...grpc.DialOption) (*Store, *clientv3.Client) {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, Logger: zap.NewNop(), DialOptions: opts,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	s := New(cli, patience, own)
	s.Start(store.Host{
		Clock: watchdog.NewClock(), Limit: patience, Heard: func(string) {}, Missed: func() {}, Replaced: func() {},
		Gone: func(string, string, error) {}, Broken: func(string, string) {}, Warn: func(string, ...any) {},
	})
	t.Cleanup(s.Wait)
	return s, cli
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// askOf is what an acquisition asks for.
func askOf(id string) *store.Ask {
	return &store.Ask{ID: id, Lease: patience, Timing: store.Timing{Within: patience}}
}

// asks sends one acquisition.
func asks(t *testing.T, l *Lock, id string) store.AcquireReply {
	t.Helper()
	reply, _, err := l.Acquire(within(t), askOf(id))
	require.NoError(t, err)
	return reply
}
