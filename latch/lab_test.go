package latch_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	labLease = 2 * time.Second
	labLimit = labLease / 6 // of one command

	// patience bounds every wait for something that has to happen. Nothing is measured against it.
	patience = 30 * time.Second
)

// newClient makes a client that is closed when the test ends.
func newClient(t testing.TB, addr string, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	opts.Logger = slog.New(slog.DiscardHandler)
	client, err := rlock.NewClient(rdb, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
		_ = rdb.Close()
	})
	return client
}

// lab is a latch, seen through a proxy, by a client that the proxy does not touch, and by hand.
type lab struct {
	*testing.T
	server       *redistest.Server
	proxy        *faultproxy.Proxy
	direct       *redis.Client
	client       *rlock.Client // of latch
	name         string
	latch, other *latch.Latch
	there        *rlock.Client // of other
}

// newLab makes a lab, with polls that are an hour apart if messages are all that may wake.
func newLab(t *testing.T, server *redistest.Server, poll time.Duration) *lab {
	t.Helper()
	if server == nil {
		server = redistest.Shared(t)
	}
	l := &lab{
		T: t, server: server, proxy: faultproxy.Start(t, server.Addr()),
		direct: server.Client(t), name: redistest.Key(t),
	}
	options := func() *rlock.ClientOptions {
		return &rlock.ClientOptions{Lease: labLease, MaxPoll: poll}
	}
	l.client = newClient(t, l.proxy.Addr(), options())
	l.latch = latch.New(l.client, l.name)
	l.there = newClient(t, server.Addr(), options())
	l.other = latch.New(l.there, l.name)
	l.loadScripts()
	// The first request of a client is answered with the server's time only. Not the one under test.
	require.NoError(t, l.latch.Delete(t.Context()))
	require.NoError(t, l.other.Delete(t.Context()))
	return l
}

// loadScripts has Redis know every script, so that none is sent twice for being unknown.
func (l *lab) loadScripts() {
	l.Helper()
	at, ctx := luacall.Latch{Count: l.name + ":s", Channel: "x"}, l.Context()
	past := luacall.Request{Key: l.name + ":sr", ID: "r:1", NotAfter: 1}
	_, err := luacall.LatchSet(at, 1, past).Run(ctx, l.direct)
	require.NoError(l, err)
	_, err = luacall.LatchDown(at, past).Run(ctx, l.direct)
	require.NoError(l, err)
	_, err = luacall.LatchWait(at.Count).Run(ctx, l.direct)
	require.NoError(l, err)
}

// bounded is a context for what has to succeed, so that a failure is not a hang.
func (l *lab) bounded() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	l.Cleanup(cancel)
	return ctx
}

func (l *lab) channel() string { return "redisson_countdownlatch__channel__{" + l.name + "}" }

// waits starts waits and returns when all of them wait, and the first of them listens.
func (l *lab) waits(ctx context.Context, on *latch.Latch, count int) <-chan error {
	l.Helper()
	results := make(chan error, count)
	said := func() int { return l.client.Stats().Waiters + l.there.Stats().Waiters }
	before := said()
	for range count {
		go func() { results <- on.Wait(ctx) }()
	}
	redistest.Eventually(l, patience, func() bool { return said() == before+count }, "they wait")
	redistest.Eventually(l, patience, func() bool {
		return l.direct.PubSubNumSub(l.Context(), l.channel()).Val()[l.channel()] > 0
	}, "one listens")
	return results
}

// open asserts that all waits end, and how.
func (l *lab) open(results <-chan error) {
	l.Helper()
	for range cap(results) {
		require.NoError(l, arrives(l, results, "the latch is open"))
	}
}

// is asserts the count, as it stands in Redis and as it is told.
func (l *lab) is(want int64) {
	l.Helper()
	count, err := l.other.Count(l.bounded())
	require.NoError(l, err)
	require.Equal(l, want, count)
	stands, err := l.direct.Get(l.Context(), l.name).Int64()
	if want == 0 {
		require.ErrorIs(l, err, redis.Nil)
		return
	}
	require.NoError(l, err)
	require.Equal(l, want, stands)
}

// quietly waits until whatever may come late has come, or is past its time.
func (l *lab) quietly() {
	l.Helper()
	now := func() time.Time { return l.direct.Time(l.Context()).Val() }
	end := now().Add(labLimit + 100*time.Millisecond)
	redistest.Eventually(l, patience, func() bool { return now().After(end) }, "time passes")
}

// arrives waits for something that is about to come.
func arrives[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	return redistest.Receive(t, patience, c, what)
}

// nothingYet asserts that nothing came, which is only worth something after what would have brought it.
func nothingYet[T any](t testing.TB, c <-chan T, why string) {
	t.Helper()
	select {
	case <-c:
		t.Fatal(why)
	default:
	}
}
