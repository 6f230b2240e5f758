package redisson_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	limit = 60 * time.Second // of a wait for what has to happen; nothing is measured against it

	// never is a lease and a poll interval that no test outlives.
	never = time.Hour

	// short is a lease that tests wait for. Renewals come every third of it, and may be two thirds late.
	short = 4 * time.Second
)

// goSide is one client of this process.
type goSide struct {
	t       *testing.T
	client  *rlock.Client
	servers []*redistest.Server
	prefix  string // of the options
}

// newGo makes a client that is closed, with nothing held, when the test ends. Zero options mean never.
func newGo(t *testing.T, rdb redis.UniversalClient, opts rlock.ClientOptions, servers ...*redistest.Server) *goSide {
	t.Helper()
	g := &goSide{t: t, servers: servers, prefix: opts.Prefix}
	if opts.Lease == 0 {
		opts.Lease = never
	}
	if opts.MaxPoll == 0 {
		opts.MaxPoll = never
	}
	opts.Logger = slog.New(slog.DiscardHandler)
	var err error
	g.client, err = rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := g.client.Close(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return g
}

// one starts a server, a Java process and a client of ours.
func one(t *testing.T, jopts javaOptions, gopts rlock.ClientOptions) (*redistest.Server, *java, *goSide) {
	t.Helper()
	classPath(t) // says what is missing before anything is started
	server := redistest.Start(t)
	return server, startJava(t, []string{server.Addr()}, jopts), newGo(t, server.Client(t), gopts, server)
}

// outcome is the result of a Lock.
type outcome struct {
	ctx    context.Context
	unlock func() error
	err    error
}

func (g *goSide) lock(name string) *rlock.Lock { return rlock.New(g.client, name) }

// hold takes a lock that is free.
func (g *goSide) hold(name string) outcome {
	g.t.Helper()
	ctx, unlock, err := g.lock(name).TryLock(context.Background())
	require.NoError(g.t, err)
	return outcome{ctx, unlock, nil}
}

// nested adds a level to the hold that ctx carries.
func (g *goSide) nested(ctx context.Context, name string) outcome {
	g.t.Helper()
	ctx, unlock, err := g.lock(name).Lock(ctx)
	require.NoError(g.t, err)
	return outcome{ctx, unlock, nil}
}

func (g *goSide) busy(name string) {
	g.t.Helper()
	_, _, err := g.lock(name).TryLock(context.Background())
	require.ErrorIs(g.t, err, rlock.ErrBusy)
}

// waiting starts a Lock, and returns once it waits and the name's channel is subscribed to.
func (g *goSide) waiting(name string) <-chan outcome {
	g.t.Helper()
	before := g.client.Stats().Waiters
	c := make(chan outcome, 1)
	go func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(2*limit, func() { cancel(errors.New("Lock took too long")) })
		defer timer.Stop() // the hold's context must not end with it
		held, unlock, err := g.lock(name).Lock(ctx)
		c <- outcome{held, unlock, err}
	}()
	redistest.Eventually(g.t, limit, func() bool { return g.client.Stats().Waiters > before }, "the call does not wait")
	g.listened(name)
	return c
}

// listened waits until somebody listens on a name's channel.
func (g *goSide) listened(name string) {
	g.t.Helper()
	channel := keys.Prefix("redisson_lock__channel", g.prefix+name)
	redistest.Eventually(g.t, limit, func() bool {
		return slices.ContainsFunc(g.servers, func(s *redistest.Server) bool {
			return slices.Contains(s.PubSubChannels(g.t), channel)
		})
	}, "nobody listens on "+channel)
}

func (g *goSide) arrives(c <-chan outcome) outcome {
	g.t.Helper()
	o := redistest.Receive(g.t, limit, c, "the waiter of this process did not get in")
	require.NoError(g.t, o.err)
	return o
}

// staysHeld watches a key for a while, during which it must exist, be renewed, and let no waiter in.
func staysHeld[T any](t *testing.T, rdb *redis.Client, key string, while time.Duration, waiter <-chan T) {
	t.Helper()
	renewals, last := 0, time.Duration(0)
	for start := time.Now(); time.Since(start) < while; time.Sleep(20 * time.Millisecond) {
		ttl, err := rdb.PTTL(context.Background(), key).Result()
		require.NoError(t, err)
		require.Positive(t, ttl, "the lock is gone, or does not expire")
		require.Empty(t, waiter, "two hold the lock")
		if last != 0 && ttl > last {
			renewals++
		}
		last = ttl
	}
	require.GreaterOrEqual(t, renewals, 2, "the lease is not renewed")
}
