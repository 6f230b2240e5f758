package rlock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// conductLimit bounds every wait for something that has to happen. Nothing is measured against it.
const conductLimit = 30 * time.Second

// conductQuiet gives options a logger that says nothing, unless they have one.
func conductQuiet(opts *rlock.ClientOptions) *rlock.ClientOptions {
	var o rlock.ClientOptions
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &o
}

// conductClient makes a client that is closed with the test, whatever it holds by then.
func conductClient(t testing.TB, addr string, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, conductQuiet(opts))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// clientOn makes a client that is closed with the test.
func clientOn(t *testing.T, rdb redis.UniversalClient, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	client, err := rlock.NewClient(rdb, conductQuiet(opts))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// conductCtx bounds what has to succeed, so that a failure is a failure and not a hang.
func conductCtx(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), conductLimit)
	t.Cleanup(cancel)
	return ctx
}

// conductAwait receives what another goroutine has to send.
func conductAwait[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(conductLimit):
		t.Fatalf("not within %v: %s", conductLimit, what)
		panic("unreachable")
	}
}

// conductTake locks, and fails the test if that fails.
func conductTake(
	t testing.TB, ctx context.Context, l rlock.Locker,
) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	return held, unlock
}

// conductScript matches every run of a script of package lua.
func conductScript(name string) faultproxy.Match { return faultproxy.Script(luacall.SHA(name)) }

// conductLine is a client whose waiters are counted as they queue.
type conductLine struct{ *rlock.Client }

func conductLineOn(t testing.TB, addr string, opts *rlock.ClientOptions) conductLine {
	t.Helper()
	return conductLine{conductClient(t, addr, conductQuiet(opts))}
}

// conductWaits waits until so many calls of a client wait.
func conductWaits(t testing.TB, c *rlock.Client, n int) {
	t.Helper()
	redistest.Eventually(t, conductLimit, func() bool { return c.Stats().Waiters >= n }, "the waiter stands in the queue")
}

// conductGrant is what a waiter got in the end.
type conductGrant struct {
	ctx    context.Context
	unlock func() error
	err    error
}

// join starts a Lock and returns when it is queued.
func (l conductLine) join(t testing.TB, ctx context.Context, lock *rlock.Lock) <-chan conductGrant {
	t.Helper()
	got, before := make(chan conductGrant, 1), l.Stats().Waiters
	go func() {
		held, unlock, err := lock.Lock(ctx)
		got <- conductGrant{held, unlock, err}
	}()
	conductWaits(t, l.Client, before+1)
	return got
}

// in returns the grant of a waiter that has to come in.
func (l conductLine) in(t testing.TB, from <-chan conductGrant) conductGrant {
	t.Helper()
	g := conductAwait(t, from, "the waiter comes in")
	require.NoError(t, g.err)
	return g
}
