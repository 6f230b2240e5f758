package integration_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// life checks what every lock must do, whatever client it was made from: be taken, re-entered, renewed, waited for,
// woken by a message, and got by another of the same client.
func life(t *testing.T, rdb redis.UniversalClient, name string) {
	t.Helper()
	opts := rlock.ClientOptions{Lease: 1200 * time.Millisecond, MaxPoll: never}
	client1, events1 := newClient(t, rdb, opts)
	client2, events2 := newClient(t, rdb, opts)
	here, there := rlock.New(client1, name), rlock.New(client2, name)
	ctx, unlock := held(t, here)
	_, unlockInner, err := here.Lock(ctx)
	require.NoError(t, err)
	events1.renewedAgain(t, 2, name)
	require.NoError(t, unlockInner())
	remote := waiting(t, events2, there)
	local := waiting(t, events1, here)
	fence := alive(t, here, ctx).Fence
	require.NoError(t, unlock())
	for range 2 { // in either order
		o, lock := outcome{}, here
		select {
		case o = <-local:
		case o = <-remote:
			lock = there
		case <-time.After(limit):
			require.FailNow(t, "no waiter got in")
		}
		require.NoError(t, o.err)
		hold := alive(t, lock, o.ctx)
		require.Greater(t, hold.Fence, fence)
		fence = hold.Fence
		require.NoError(t, o.unlock())
	}
	require.Empty(t, events1.losses())
	require.Empty(t, events2.losses())
}

// grudge is a hook of the application that refuses, or delays, everything that goes through its client.
type grudge struct{}

func (grudge) DialHook(next redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errGrudge }
}

func (grudge) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return errGrudge }
}

func (grudge) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errGrudge }
}

var errGrudge = errors.New("refused by a hook")

func TestClientsOfASingleNode(t *testing.T) {
	server := redistest.Start(t)
	ctx := context.Background()
	admin := server.Client(t)
	require.NoError(t, admin.Do(ctx, "acl", "setuser", "locks", "on", ">secret", "~*", "&*", "+@all",
		"-@dangerous").Err())
	for name, opts := range map[string]redis.Options{
		"defaults":           {},
		"deadlines off":      {ContextTimeoutEnabled: false, ReadTimeout: -1, WriteTimeout: -1},
		"deadlines on":       {ContextTimeoutEnabled: true},
		"one connection":     {PoolSize: 1},
		"protocol 2":         {Protocol: 2},
		"protocol 3":         {Protocol: 3},
		"user and password":  {Username: "locks", Password: "secret"},
		"credentials":        {CredentialsProvider: func() (string, string) { return "locks", "secret" }},
		"database 1":         {DB: 1},
		"many retries":       {MaxRetries: 50, MinRetryBackoff: time.Millisecond},
		"no retries":         {MaxRetries: -1},
		"client name":        {ClientName: "app", DisableIdentity: true},
		"no pipeline pool":   {PipelinePoolSize: -1},
		"hasty":              {ReadTimeout: time.Nanosecond, WriteTimeout: time.Nanosecond, PoolTimeout: 1},
		"ephemeral":          {ConnMaxLifetime: 50 * time.Millisecond, ConnMaxIdleTime: 10 * time.Millisecond},
		"protocol 2, user":   {Protocol: 2, Username: "locks", Password: "secret", DB: 2},
		"small buffers":      {ReadBufferSize: 1024, WriteBufferSize: 64},
		"last in, first out": {PoolFIFO: true, MaxActiveConns: 1, PoolSize: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Addr = server.Addr()
			rdb := redis.NewClient(&opts)
			t.Cleanup(func() { _ = rdb.Close() })
			life(t, rdb, "client:"+name)
		})
	}
	t.Run("hooks", func(t *testing.T) {
		t.Parallel()
		rdb := redis.NewClient(server.Options())
		t.Cleanup(func() { _ = rdb.Close() })
		rdb.AddHook(grudge{})
		require.ErrorIs(t, rdb.Ping(ctx).Err(), errGrudge)
		life(t, rdb, "client:hooks")
	})
	t.Run("closed by the application", func(t *testing.T) {
		t.Parallel()
		rdb := redis.NewClient(server.Options())
		require.NoError(t, rdb.Close())
		life(t, rdb, "client:closed")
	})
}

// The locks use the settings of a REDIS_URL.
func TestClientOfAURL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx := context.Background()
	admin := server.Client(t)
	require.NoError(t, admin.Do(ctx, "acl", "setuser", "locks", "on", ">secret", "~*", "&*", "+@all").Err())
	opts, err := redis.ParseURL("redis://locks:secret@" + server.Addr() + "/3?protocol=2&pool_size=2")
	require.NoError(t, err)
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{opts.Addr}, DB: opts.DB, Username: opts.Username, Password: opts.Password,
		Protocol: opts.Protocol, PoolSize: opts.PoolSize,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	life(t, rdb, "client:url")
	_, unlock := heldBy(t, rdb, "where")
	require.EqualValues(t, 1, rdb.Exists(ctx, "where").Val(), "in database 3, as the URL says")
	require.Zero(t, admin.Exists(ctx, "where").Val())
	require.NoError(t, unlock())
}

func heldBy(t *testing.T, rdb redis.UniversalClient, name string) (context.Context, func() error) {
	t.Helper()
	client, _ := newClient(t, rdb, rlock.ClientOptions{})
	return held(t, rlock.New(client, name))
}

func TestClientOfAUnixSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	redistest.Start(t, redistest.WithDir(dir), redistest.WithArgs("--unixsocket", path))
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: path})
	t.Cleanup(func() { _ = rdb.Close() })
	life(t, rdb, "unix")
}

// faults.md 27: an application that blocks its whole pool, as BLPOP does, delays neither a renewal nor any other call
// of its locks.
func TestAnExhaustedPoolDoesNotDisturbLocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1, PoolTimeout: time.Minute})
	t.Cleanup(func() { _ = rdb.Close() })
	popped := make(chan error, 1)
	go func() { popped <- rdb.BLPop(context.Background(), 0, "queue").Err() }()
	redistest.Eventually(t, limit, func() bool {
		return server.Info(t, "clients")["blocked_clients"] == "1"
	}, "the pool is not exhausted")
	life(t, rdb, "starved")
	require.Empty(t, popped, "the pool was exhausted all the time")
	require.NoError(t, server.Client(t).RPush(context.Background(), "queue", "x").Err())
	require.NoError(t, <-popped)
}

func TestClientsOfACluster(t *testing.T) {
	lab := redistest.Cluster(t, 2)
	ctx := context.Background()
	for i := range lab.Len() {
		require.NoError(t, lab.Node(i).Client(t).Do(ctx, "acl", "setuser", "locks", "on", ">secret",
			"~*", "&*", "+@all").Err())
	}
	for name, opts := range map[string]redis.ClusterOptions{
		"defaults":          {},
		"from replicas":     {ReadOnly: true},
		"random":            {RouteRandomly: true},
		"nearest":           {RouteByLatency: true},
		"one connection":    {PoolSize: 1},
		"protocol 2":        {Protocol: 2},
		"no redirections":   {MaxRedirects: -1},
		"no policies":       {DisableRoutingPolicies: true},
		"user and password": {Username: "locks", Password: "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Addrs = lab.Addrs()[:1]
			rdb := redis.NewClusterClient(&opts)
			t.Cleanup(func() { _ = rdb.Close() })
			life(t, rdb, "cluster:"+name)
		})
	}
	t.Run("universal", func(t *testing.T) {
		t.Parallel()
		rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: lab.Addrs(), RouteRandomly: true})
		t.Cleanup(func() { _ = rdb.Close() })
		life(t, rdb, "cluster:universal")
	})
}

func TestClientsOfASentinel(t *testing.T) {
	lab := redistest.Sentinel(t)
	given := lab.Options()
	for name, opts := range map[string]redis.UniversalOptions{
		"plain":                 {},
		"protocol 2":            {Protocol: 2},
		"database 1":            {DB: 1},
		"routed over a cluster": {RouteRandomly: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.MasterName, opts.Addrs = given.MasterName, given.SentinelAddrs
			rdb := redis.NewUniversalClient(&opts)
			t.Cleanup(func() { _ = rdb.Close() })
			life(t, rdb, "sentinel:"+name)
		})
	}
}
