package goredis_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// never is a limit that no test reaches.
const never = time.Minute

// strict are the options of a client that leaves deadlines and repetitions to its caller, as the locks' own clients do.
func strict(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: never, WriteTimeout: never, PoolTimeout: never,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
	}
}

func client(t *testing.T, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// faulty returns a client that reaches a server through a proxy.
func faulty(t *testing.T) (*redis.Client, *faultproxy.Proxy, *redistest.Server) {
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	return client(t, strict(proxy.Addr())), proxy, server
}

type dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialling returns a client whose dialer is wrapped.
func dialling(t *testing.T, wrap func(dial) dial) *redis.Client {
	o := strict(redistest.Shared(t).Addr())
	o.Dialer = wrap(redis.NewDialer(&redis.Options{DialTimeout: never}))
	return client(t, o)
}

func isTimeout(t *testing.T, err error) {
	t.Helper()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "%v", err)
}
