package etcdlock_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/lock"
)

type meter struct{ writes atomic.Int64 }

func (m *meter) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &metered{conn, m}, nil
}

type metered struct {
	net.Conn
	of *meter
}

func (m *metered) Write(p []byte) (int, error) {
	m.of.writes.Add(1)
	return m.Conn.Write(p)
}

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		var sent meter
		limits := conformance.Leases{Least: 5 * time.Second, Step: time.Second}
		lease = limits.Fit(lease)
		clients := make([]*etcdlock.Client, 2)
		for i := range clients {
			cli, err := clientv3.New(clientv3.Config{
				Endpoints: []string{os.Getenv("ETCD")}, DialOptions: []grpc.DialOption{grpc.WithContextDialer(sent.dial)},
			})
			require.NoError(t, err)
			clients[i], err = etcdlock.NewClient(cli, &etcdlock.Options{
				Lease: lease, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = clients[i].Close(); _ = cli.Close() })
		}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return clients[n].Lock(name, opts...)
			},
			Close: func(n int) error { return clients[n].Close() },
			Sent:  sent.writes.Load, Lease: lease, Leases: limits,
			Lacks: conformance.Moves | conformance.MinHolds | conformance.Tries,
		}
	})
}
