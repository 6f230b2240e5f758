package links_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
)

var limits = links.Limits{Command: 150 * time.Millisecond, Life: 300 * time.Millisecond}

func from(t *testing.T, rdb redis.UniversalClient) *links.Links {
	t.Helper()
	t.Cleanup(func() { _ = rdb.Close() })
	l, err := links.From(rdb, limits)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// singles are options that an application may use, from none to the most unsuitable.
var singles = map[string]redis.Options{
	"zero": {},
	"negative": {
		Addr: "redis.test:1", ReadTimeout: -1, WriteTimeout: -1, DialTimeout: -1, PoolTimeout: -1,
		MaxRetries: -1, MinRetryBackoff: -1, MaxRetryBackoff: -1, ConnMaxIdleTime: -1,
		ConnMaxLifetime: -1, DialerRetries: -1, PipelinePoolSize: -1,
	},
	"no deadlines at all": {Addr: "redis.test:1", ReadTimeout: -2, WriteTimeout: -2},
	"patient": {
		Addr: "redis.test:1", ReadTimeout: time.Hour, WriteTimeout: time.Hour,
		DialTimeout: time.Hour, PoolTimeout: time.Hour, MaxRetries: 100, DialerRetries: 100,
	},
	"tiny pool": {Addr: "redis.test:1", PoolSize: 1, MaxActiveConns: 1},
	"greedy": {
		Addr: "redis.test:1", PoolSize: 500, MinIdleConns: 2, MaxIdleConns: 500,
		MaxActiveConns: 500, MaxConcurrentDials: 500, DialerRetries: 1,
	},
	"unix": {Network: "unix", Addr: "/nowhere/redis.sock"},
}

// Every command has a deadline of its own and is sent once, whatever the application's client does
// (faults.md 0.4 and 0.6; need 1).
func TestDerivedOptionsOfASingleNode(t *testing.T) {
	for name, given := range singles {
		t.Run(name, func(t *testing.T) {
			// The pool of an application with MinIdleConns dials at once; here it fails.
			given.Dialer = func(context.Context, string, string) (net.Conn, error) {
				return nil, net.ErrClosed
			}
			rdb := redis.NewClient(&given)
			l := from(t, rdb)
			require.False(t, l.Cluster())
			require.Zero(t, l.Life())
			o := l.Traffic.(*redis.Client).Options()
			require.True(t, o.ContextTimeoutEnabled)
			for _, d := range []time.Duration{o.ReadTimeout, o.WriteTimeout} {
				require.Equal(t, limits.Command+200*time.Millisecond, d, "a command's own deadline is the first")
			}
			for _, d := range []time.Duration{o.PoolTimeout, o.DialTimeout / 2} {
				require.Equal(t, limits.Command, d)
			}
			require.Zero(t, o.MaxRetries)
			require.Equal(t, 1, o.DialerRetries)
			require.Zero(t, o.MinIdleConns, "nothing is sent before it is needed")
			require.Zero(t, o.MaxActiveConns)
			require.Equal(t, rdb.Options().Addr, o.Addr)
			require.Equal(t, rdb.Options().Network, o.Network)
			require.Equal(t, rdb.Options().ConnMaxLifetime, o.ConnMaxLifetime,
				"the application knows how long its servers keep one")
			require.Greater(t, o.PoolSize, max(rdb.Options().PoolSize, links.Exchanges),
				"a renewal does not wait for an exchange of callers")
			require.Equal(t, -1, o.PipelinePoolSize, "every request can use any connection")
		})
	}
}

func TestDerivedClientsKeepIdentityAndSecrets(t *testing.T) {
	secret := &tls.Config{ServerName: "redis.test", MinVersion: tls.VersionTLS12}
	connected := func(context.Context, *redis.Conn) error { return nil }
	credentials := func() (string, string) { return "u", "p" }
	single := redis.NewClient(&redis.Options{
		Addr: "redis.test:1", ClientName: "app", Username: "user", Password: "word", DB: 3,
		Protocol: 2, TLSConfig: secret, OnConnect: connected, CredentialsProvider: credentials,
		IdentitySuffix: "x", DisableIdentity: true,
	})
	o := from(t, single).Traffic.(*redis.Client).Options()
	require.Equal(t, []any{"redis.test:1", "app", "user", "word", 3, 2, "x", true},
		[]any{o.Addr, o.ClientName, o.Username, o.Password, o.DB, o.Protocol, o.IdentitySuffix,
			o.DisableIdentity})
	require.Same(t, secret, o.TLSConfig)
	require.NotNil(t, o.OnConnect)
	require.NotNil(t, o.CredentialsProvider)

	cluster := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"redis.test:1", "redis.test:2"}, ClientName: "app", Username: "user",
		Password: "word", Protocol: 2, TLSConfig: secret, OnConnect: connected,
		CredentialsProvider: credentials,
	})
	c := from(t, cluster).Traffic.(*redis.ClusterClient).Options()
	require.Equal(t, []any{[]string{"redis.test:1", "redis.test:2"}, "app", "user", "word", 2},
		[]any{c.Addrs, c.ClientName, c.Username, c.Password, c.Protocol})
	require.Same(t, secret, c.TLSConfig)
	require.NotNil(t, c.OnConnect)
	require.NotNil(t, c.CredentialsProvider)
}

// Scripts write, so they go to primaries however the application reads; and MOVED must be followed even if the
// application's client does not follow it.
func TestDerivedOptionsOfACluster(t *testing.T) {
	clusters := map[string]redis.ClusterOptions{
		"zero": {},
		"negative": {
			ReadTimeout: -1, WriteTimeout: -1, PoolTimeout: -1, MaxRetries: -1, MaxRedirects: -1,
			MinRetryBackoff: -1, MaxRetryBackoff: -1, ConnMaxIdleTime: -1,
		},
		"patient":       {ReadTimeout: time.Hour, DialTimeout: time.Hour, MaxRetries: 100, DialerRetries: 9},
		"from replicas": {ReadOnly: true},
		"random":        {RouteRandomly: true},
		"nearest":       {RouteByLatency: true, RouteByLatencyTolerance: time.Second},
		"greedy":        {PoolSize: 500, MinIdleConns: 2, MaxActiveConns: 500},
	}
	for name, given := range clusters {
		t.Run(name, func(t *testing.T) {
			given.Addrs = []string{"redis.test:1"}
			given.NewClient = func(o *redis.Options) *redis.Client {
				t.Error("a node of the application's making")
				return redis.NewClient(o)
			}
			rdb := redis.NewClusterClient(&given)
			l := from(t, rdb)
			require.True(t, l.Cluster())
			require.Zero(t, l.Life())
			o := l.Traffic.(*redis.ClusterClient).Options()
			require.True(t, o.ContextTimeoutEnabled)
			for _, d := range []time.Duration{o.ReadTimeout, o.WriteTimeout} {
				require.Equal(t, limits.Command+200*time.Millisecond, d, "a command's own deadline is the first")
			}
			for _, d := range []time.Duration{o.PoolTimeout, o.DialTimeout / 2} {
				require.Equal(t, limits.Command, d)
			}
			require.False(t, o.ReadOnly || o.RouteByLatency || o.RouteRandomly)
			require.LessOrEqual(t, o.MaxRetries, 0)
			require.Positive(t, o.MaxRedirects)
			require.Equal(t, 1, o.DialerRetries)
			require.Zero(t, o.MinIdleConns)
			require.Zero(t, o.MaxActiveConns)
		})
	}
}

// The options that the application's client keeps using must not be written to.
func TestTheApplicationsOptionsStayAsTheyWere(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "redis.test:1", PoolSize: 7, MaxRetries: 5})
	from(t, rdb)
	o := rdb.Options()
	require.False(t, o.ContextTimeoutEnabled)
	require.Equal(t, []int{7, 5}, []int{o.PoolSize, o.MaxRetries})
	require.Equal(t, 5*time.Second, o.ReadTimeout)

	cluster := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"redis.test:1"}, RouteRandomly: true, PoolSize: 7,
	})
	from(t, cluster)
	c := cluster.Options()
	require.False(t, c.ContextTimeoutEnabled)
	require.True(t, c.RouteRandomly && c.ReadOnly)
	require.Equal(t, 7, c.PoolSize)
}

// A dial that hangs must not take much longer than one command may: go-redis's own dialer, made from the
// application's options, would wait for five seconds.
func TestADialIsTwoCommandsLong(t *testing.T) {
	got := make(chan time.Duration, 1)
	rdb := redis.NewClient(&redis.Options{
		Addr: "redis.test:1",
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			at, ok := ctx.Deadline()
			if !ok {
				at = time.Now().Add(time.Hour)
			}
			select {
			case got <- time.Until(at):
			default:
			}
			return nil, net.ErrClosed
		},
	})
	l := from(t, rdb)
	require.Error(t, l.Traffic.Ping(context.Background()).Err())
	require.LessOrEqual(t, <-got, 2*limits.Command)
}
