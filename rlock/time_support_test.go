package rlock_test

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// timeLimit bounds waits for what must happen; how soon it does is not what is asserted.
const timeLimit = 20 * time.Second

// timeClient is a client of the server at addr. When the test ends it must close without locks that
// are still held: a test that means to keep one closes the client itself.
func timeClient(t testing.TB, addr string, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("a hold is left over: %v", err)
		}
		_ = rdb.Close()
	})
	return client
}

// timeLab is a server behind a fault proxy, both of one test alone.
type timeLab struct {
	server *redistest.Server
	proxy  *faultproxy.Proxy
	direct *redis.Client // past the proxy
}

func newTimeLab(t testing.TB) *timeLab {
	t.Helper()
	server := redistest.Start(t)
	return &timeLab{
		server: server, proxy: faultproxy.Start(t, server.Addr()), direct: server.Client(t),
	}
}

// client is one whose traffic passes the proxy.
func (l *timeLab) client(t testing.TB, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	return timeClient(t, l.proxy.Addr(), opts)
}

// outside is one that the proxy's faults do not reach.
func (l *timeLab) outside(t testing.TB, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	return timeClient(t, l.server.Addr(), opts)
}

// on adds a rule for runs of one of our scripts.
func (l *timeLab) on(script string, action faultproxy.Action) *faultproxy.Rule {
	return l.proxy.On(faultproxy.Script(luacall.SHA(script)), action)
}

// timeHold is a level that a test holds.
type timeHold struct {
	ctx    context.Context
	unlock func() error
}

func timeLock(t testing.TB, ctx context.Context, l *rlock.Lock) timeHold {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	if err != nil && t.Context().Err() != nil {
		runtime.Goexit() // the test has failed before, and left this goroutine behind
	}
	require.NoError(t, err)
	return timeHold{held, unlock}
}

func timeHeld(t testing.TB, ctx context.Context, l *rlock.Lock) rlock.Hold {
	t.Helper()
	hold, err := l.Held(ctx)
	require.NoError(t, err)
	return hold
}

// timeOver waits for a context's end and returns its cause.
func timeOver(t testing.TB, ctx context.Context) error {
	t.Helper()
	redistest.Receive(t, timeLimit, ctx.Done(), "the context did not end")
	return context.Cause(ctx)
}

func timeReceive[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	return redistest.Receive(t, timeLimit, c, "nothing came: "+what)
}

// timeLost asserts that err is the loss of a hold for a reason.
func timeLost(t testing.TB, err error, reason rlock.LossReason) {
	t.Helper()
	require.ErrorIs(t, err, rlock.ErrLost)
	var lost *rlock.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, reason, lost.Reason, "%v", err)
}

// timeGone asserts that the key is not there, now.
func timeGone(t testing.TB, rdb *redis.Client, key string) {
	t.Helper()
	n, err := rdb.Exists(t.Context(), key).Result()
	require.NoError(t, err)
	require.Zero(t, n, "the lock is still in Redis")
}

func timeGoneSoon(t testing.TB, rdb *redis.Client, key string) {
	t.Helper()
	timeGoneWithin(t, rdb, key, timeLimit)
}

// timeGoneWithin is for keys that would expire by themselves, later than the limit.
func timeGoneWithin(t testing.TB, rdb *redis.Client, key string, limit time.Duration) {
	t.Helper()
	redistest.Eventually(t, limit, func() bool {
		return rdb.Exists(context.Background(), key).Val() == 0
	}, "the lock is still in Redis: "+key)
}

// timeCount is the count of a hold in Redis.
// timeCounts waits until Redis has a hold's count, which follows behind.
func timeCounts(t testing.TB, rdb *redis.Client, key, id string, want int) {
	t.Helper()
	redistest.Eventually(t, timeLimit, func() bool {
		return rdb.HGet(context.Background(), key, id).Val() == strconv.Itoa(want)
	}, "the count is "+strconv.Itoa(want))
}

func timeTTL(t testing.TB, rdb *redis.Client, key string) time.Duration {
	t.Helper()
	ttl, err := rdb.PTTL(t.Context(), key).Result()
	require.NoError(t, err)
	return ttl
}

// timeBetween asserts that a time lies in a half-open range.
func timeBetween(t testing.TB, above, d, atMost time.Duration) {
	t.Helper()
	require.Greater(t, d, above)
	require.LessOrEqual(t, d, atMost)
}
