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
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
)

// TestConformance holds the lock to what every lock of the module promises; terms of leaders nest (defect G63).
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		limits := conformance.Leases{Least: brief, Step: time.Second}
		lease = limits.Fit(lease)
		sent := &wire{}
		var both [2]*etcdlock.Client
		var paths [2]netfault.Path
		var listeners [2]conformance.Listener
		endpoint := etcdtest.Shared(t).Endpoint()
		plain := connect(t, endpoint)
		for i := range both {
			dial := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				return paths[i].Dial(ctx, "tcp", addr)
			})
			both[i] = client(t, connect(t, endpoint, append(sent.options(), dial)...), etcdlock.Options{
				Lease: lease, MaxPoll: time.Second,
				Observer: listeners[i].Observer(), Logger: listeners[i].Logger(),
			})
		}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return both[n].Lock(name, opts...)
			},
			Close:    func(n int) error { return both[n].Close() },
			Path:     func(n int) *netfault.Path { return &paths[n] },
			Listener: func(n int) *conformance.Listener { return &listeners[n] },
			Stats:    func(n int) lock.Stats { return both[n].Stats() },
			Erase: func(name string) {
				_, err := plain.Delete(within(t), name+"/", clientv3.WithPrefix())
				require.NoError(t, err)
			},
			Sent: sent.Total, Lease: lease, Leases: limits,
			Lacks: conformance.Moves | conformance.MinHolds | conformance.Tries | conformance.Keeping,
		}
	})
}
