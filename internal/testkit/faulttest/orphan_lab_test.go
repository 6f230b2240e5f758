package faulttest_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	// faultSoon bounds what is to happen without waiting for any time to pass.
	faultSoon = 20 * time.Second
	// faultNever is a lease or a poll interval that cannot be the reason for what happens soon.
	faultNever = 5 * time.Minute
)

// faultyPath is a Redis of the test's own, a proxy in front of it, and a client past the proxy.
type faultyPath struct {
	t      *testing.T
	server *redistest.Server
	proxy  *faultproxy.Proxy
	direct *redis.Client
}

func newFaultyPath(t *testing.T) *faultyPath {
	t.Helper()
	server := redistest.Start(t)
	return &faultyPath{
		t: t, server: server,
		proxy: faultproxy.Start(t, server.Addr()), direct: server.Client(t),
	}
}

// client makes a client whose way to Redis is the proxy. It must have nothing held at the end.
func (p *faultyPath) client(opts rlock.ClientOptions) *rlock.Client {
	p.t.Helper()
	return p.clientAt(p.proxy.Addr(), opts)
}

// straight makes a client that reaches Redis past the proxy.
func (p *faultyPath) straight(opts rlock.ClientOptions) *rlock.Client {
	p.t.Helper()
	return p.clientAt(p.server.Addr(), opts)
}

func (p *faultyPath) clientAt(addr string, opts rlock.ClientOptions) *rlock.Client {
	p.t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	rdb := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
	p.t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, client.Close()) })
	return client
}

// hold locks name for the test past the proxy, and returns the unlock.
func (p *faultyPath) hold(lock *rlock.Lock) (held context.Context, unlock func() error) {
	p.t.Helper()
	held, unlock, err := lock.Lock(p.t.Context())
	require.NoError(p.t, err)
	return held, unlock
}

// lockKeys are the keys that stand for a hold.
func (p *faultyPath) lockKeys() []string {
	p.t.Helper()
	var keys []string
	for _, key := range p.server.Keys(p.t) {
		if !strings.HasPrefix(key, "redisson_lock_token") {
			keys = append(keys, key)
		}
	}
	return keys
}

// cleansUp waits until nothing is held any more; limit is far below every lease.
func (p *faultyPath) cleansUp(limit time.Duration) {
	p.t.Helper()
	redistest.Eventually(p.t, limit, func() bool { return len(p.lockKeys()) == 0 },
		"a hold was left behind that nobody has")
}

// exists reports whether anybody holds name.
func (p *faultyPath) exists(name string) bool {
	p.t.Helper()
	n, err := p.direct.Exists(p.t.Context(), name).Result()
	require.NoError(p.t, err)
	return n == 1
}

// listened waits until somebody is subscribed to name's channel.
func (p *faultyPath) listened(name string) {
	p.t.Helper()
	redistest.Eventually(p.t, faultSoon, func() bool {
		subscribers, err := p.direct.PubSubNumSub(p.t.Context(), faultChannel(name)).Result()
		require.NoError(p.t, err)
		return subscribers[faultChannel(name)] > 0
	}, "nobody subscribed")
}

// queued waits until n calls wait in the lock's client. Others that listen count once.
func (p *faultyPath) queued(lock *rlock.Lock, n int) {
	p.t.Helper()
	redistest.Eventually(p.t, faultSoon, func() bool {
		info, err := lock.Inspect(p.t.Context())
		if errors.Is(err, rlock.ErrUnavailable) { // a busy machine needs longer than a command of a short lease has
			return false
		}
		require.NoError(p.t, err)
		return info.Waiters >= n
	}, "the callers did not come to wait")
}

// scripts counts the runs of a script that came to the proxy.
func (p *faultyPath) scripts(name string) int {
	p.t.Helper()
	return p.proxy.Requests(faultproxy.Script(luacall.SHA(name)))
}

func faultChannel(name string) string { return "redisson_lock__channel:{" + name + "}" }

// faultGrant is what a Lock call in the background came to.
type faultGrant struct {
	held   context.Context
	unlock func() error
	err    error
}

// faultCall runs a Lock or TryLock in the background.
func faultCall(
	ctx context.Context, call func(context.Context) (context.Context, func() error, error),
) <-chan faultGrant {
	grants := make(chan faultGrant, 1)
	go func() {
		held, unlock, err := call(ctx)
		grants <- faultGrant{held, unlock, err}
	}()
	return grants
}

// faultAwait waits for the end of a call, and fails the test if it takes too long.
func faultAwait(t *testing.T, grants <-chan faultGrant, limit time.Duration) faultGrant {
	t.Helper()
	return redistest.Receive(t, limit, grants, "the call did not return")
}

// faultEnters waits until the call holds, and unlocks.
func faultEnters(t *testing.T, grants <-chan faultGrant, limit time.Duration) {
	t.Helper()
	g := faultAwait(t, grants, limit)
	require.NoError(t, g.err)
	require.NoError(t, g.unlock())
}
