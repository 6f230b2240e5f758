package rlock_test

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// lastDialer makes connections until there are no more: the process has no file descriptors left, the server no places,
// or the name server does not answer.
type lastDialer struct{ none atomic.Bool }

// onlyConn is a connection that nobody can make again without the application's dialer.
type onlyConn struct{ net.Conn }

func (d *lastDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.none.Load() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.EMFILE}
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return onlyConn{conn}, nil
}

// connectionSites are clients that dial by a dialer, over each kind of topology.
func connectionSites(t *testing.T) map[string]func(t *testing.T, dial *lastDialer) redis.UniversalClient {
	t.Helper()
	type dialer = *lastDialer
	return map[string]func(t *testing.T, dial *lastDialer) redis.UniversalClient{
		"a single server": func(t *testing.T, dial dialer) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr(), Dialer: dial.dial})
		},
		"Sentinel": func(t *testing.T, dial dialer) redis.UniversalClient {
			o := redistest.Sentinel(t).Options()
			o.Dialer = dial.dial
			return redis.NewFailoverClient(o)
		},
		"a cluster": func(t *testing.T, dial dialer) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: redistest.Cluster(t, 2).Addrs(), Dialer: dial.dial,
			})
		},
	}
}

// A hold is renewed, and released, over the connection that it was acquired with. If renewals needed one of their own,
// a hold would be lost, although its client reaches the server, when nobody gets a new connection (defect G2).
func TestAHoldNeedsNoNewConnection(t *testing.T) {
	t.Parallel()
	for site, connect := range connectionSites(t) {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			const lease, periods = 6 * time.Second, 5 // longer than the lease
			dial, events := &lastDialer{}, &lossEvents{renewed: map[string]int{}, failed: map[string]int{}}
			rdb := connect(t, dial)
			t.Cleanup(func() { _ = rdb.Close() })
			client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
				Lease: lease, ReleaseTimeout: time.Second, Logger: lossQuiet, Observer: events.observer(),
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			held, unlock, err := rlock.New(client, "job").Lock(t.Context())
			require.NoError(t, err)
			dial.none.Store(true)
			redistest.Eventually(t, lossPatience, func() bool {
				return held.Err() != nil || events.count(&events.renewed, "job") >= periods
			}, "the hold is neither renewed nor lost")
			require.NoError(t, held.Err(), "%v", context.Cause(held))
			require.NoError(t, unlock())
			_, unlock, err = rlock.New(client, "job").TryLock(t.Context())
			require.NoError(t, err)
			require.NoError(t, unlock())
		})
	}
}

// A server that has no places left says so, and hangs up. Callers and the log learn what it said (defect G2).
func TestTheReasonWhyThereIsNoConnectionIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--maxclients", "1"))
	only := server.Client(t)
	require.NoError(t, only.Ping(t.Context()).Err())
	log := &observerLog{}
	client, err := rlock.NewClient(lossRedis(t, server.Addr()), &rlock.ClientOptions{
		Lease: 3 * time.Second, ReleaseTimeout: time.Second, Logger: slog.New(log),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	for range 20 {
		_, _, err = rlock.New(client, "job").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.ErrorContains(t, err, "max number of clients reached")
	}
	redistest.Eventually(t, lossPatience, func() bool {
		_, _, err = rlock.New(client, "job").TryLock(t.Context())
		return len(log.with(outageBegins)) > 0
	}, "the log does not tell")
	require.Contains(t, log.with(outageBegins)[0]["error"].String(), "max number of clients reached")
}
