package latch_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestALatchOpensWithTheLastCountDown(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	require.Equal(t, l.name, l.latch.Name())
	require.NoError(t, l.latch.Wait(l.bounded()), "it is open before it was set")
	require.NoError(t, l.latch.Set(t.Context(), 3))
	l.is(3)
	here, there := l.waits(l.bounded(), l.latch, 20), l.waits(l.bounded(), l.other, 20)
	for left := int64(2); left >= 0; left-- {
		nothingYet(t, here, "the count is still running")
		nothingYet(t, there, "the count is still running")
		require.NoError(t, l.other.CountDown(t.Context()))
		l.is(left)
	}
	l.open(here)
	l.open(there)
	require.NoError(t, l.latch.CountDown(t.Context()), "of nothing")
	l.is(0)
}

func TestALatchThatCountsIsNotSetAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	require.NoError(t, l.latch.Set(t.Context(), 1))
	require.ErrorIs(t, l.other.Set(t.Context(), 5), rlock.ErrBusy)
	l.is(1)
	require.NoError(t, l.latch.CountDown(t.Context()))
	require.NoError(t, l.other.Set(t.Context(), 5))
	l.is(5)
}

func TestADeletionOpensTheLatch(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	require.NoError(t, l.latch.Set(t.Context(), 3))
	waits := l.waits(l.bounded(), l.latch, 3)
	require.NoError(t, l.other.Delete(t.Context()))
	l.open(waits)
	l.is(0)
	require.NoError(t, l.other.Delete(t.Context()), "of nothing")
}

// The text says what a latch does that callers wait for: nobody holds it (defect F21).
func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	require.NoError(t, l.latch.Set(t.Context(), 1))
	ctx, cancel := context.WithCancel(t.Context())
	first := l.waits(ctx, l.latch, 2)
	others := l.waits(l.bounded(), l.latch, 3)
	cancel()
	for range 2 {
		err := arrives(t, first, "its context is over")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.EqualError(t, err, fmt.Sprintf("holdfast: latch %q is still counting down: context canceled", l.latch.Name()))
	}
	require.ErrorIs(t, l.latch.Wait(ctx), context.Canceled)
	nothingYet(t, others, "theirs is not")
	require.NoError(t, l.latch.CountDown(t.Context()))
	l.open(others)
}

// One of a process asks for all of it.
func TestManyWaitsCostAsMuchAsOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := newLab(t, server, time.Hour)
	require.NoError(t, l.latch.Set(t.Context(), 1))
	waits := l.waits(l.bounded(), l.latch, 500)
	before := server.Calls(t, "evalsha") + server.Calls(t, "eval")
	require.NoError(t, l.other.CountDown(t.Context()))
	l.open(waits)
	require.LessOrEqual(t, server.Calls(t, "evalsha")+server.Calls(t, "eval")-before, int64(10))
}

// calls are all calls, with good arguments.
func calls(l *latch.Latch) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Set":       func(ctx context.Context) error { return l.Set(ctx, 1) },
		"CountDown": l.CountDown,
		"Count":     func(ctx context.Context) error { _, err := l.Count(ctx); return err },
		"Wait":      l.Wait,
		"Delete":    l.Delete,
	}
}

// Bad arguments are told before anything is sent: not even a connection is made.
func TestBadArgumentsOfALatch(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	rdb := redis.NewClient(&redis.Options{
		Addr: redistest.Shared(t).Addr(),
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			sent.Add(1)
			return nil, net.ErrClosed
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	refused := func(err error, what string) {
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad, what)
		require.NotEmpty(t, bad.Name, what)
	}
	for _, n := range []int64{0, -1, math.MinInt64, math.MaxInt32 + 1, math.MaxInt64} {
		refused(latch.New(client, "x").Set(t.Context(), n), "Set")
	}
	for what, l := range map[string]*latch.Latch{
		"no name": latch.New(client, ""), "a long name": latch.New(client, strings.Repeat("x", 1025)),
		"no client": latch.New(nil, "x"), "a zero client": latch.New(&rlock.Client{}, "x"),
		"a zero value": {},
	} {
		for name, call := range calls(l) {
			refused(call(t.Context()), what+": "+name)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(latch.New(client, "x")) {
		var none context.Context
		refused(call(none), name)
		require.ErrorIs(t, call(over), context.Canceled, name)
	}
	require.Zero(t, sent.Load())
}

// On a cluster Redisson's channel of a name with braces is in another slot than its count.
func TestBracesInTheNameOfALatch(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client, err := rlock.NewClient(lab.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for _, name := range []string{"{x}", "a{b}c", "a{b", "a}b", "{", "}"} {
		for what, call := range calls(latch.New(client, name)) {
			var bad *rlock.ArgumentError
			require.ErrorAs(t, call(t.Context()), &bad, what)
			require.Equal(t, "name", bad.Name)
		}
	}
	plain := latch.New(client, "plain")
	require.NoError(t, plain.Set(t.Context(), 2))
	waited := make(chan error, 1)
	go func() { waited <- plain.Wait(context.Background()) }()
	for range 2 {
		nothingYet(t, waited, "the count is still running")
		require.NoError(t, plain.CountDown(t.Context()))
	}
	require.NoError(t, arrives(t, waited, "it is open"))

	// On a single node all names are good, and their channels are Redisson's.
	l := newLab(t, nil, time.Hour)
	for _, name := range []string{"{x}", "a{b}c", "a{b", "a}b"} {
		l.name = name + ":" + redistest.Key(t)
		l.latch = latch.New(l.client, l.name)
		require.NoError(t, l.latch.Set(t.Context(), 1))
		waits := l.waits(l.bounded(), l.latch, 1)
		require.NoError(t, l.latch.CountDown(t.Context()))
		l.open(waits)
	}
}

// A name that something else uses is a conflict: neither open nor deleted.
func TestNamesThatSomethingElseUses(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	for _, put := range []func() error{
		func() error { return l.direct.HSet(t.Context(), l.name, "a:1", 1).Err() },
		func() error { return l.direct.Set(t.Context(), l.name, "text", 0).Err() },
		func() error { return l.direct.RPush(t.Context(), l.name, "x").Err() },
	} {
		require.NoError(t, l.direct.Del(t.Context(), l.name).Err())
		require.NoError(t, put())
		before := l.direct.Dump(t.Context(), l.name).Val()
		for what, call := range calls(l.latch) {
			require.ErrorIs(t, call(l.bounded()), rlock.ErrKeyConflict, what)
		}
		require.Equal(t, before, l.direct.Dump(t.Context(), l.name).Val())
	}
	require.NoError(t, l.direct.Del(t.Context(), l.name).Err())
	require.NoError(t, l.latch.Set(t.Context(), 1))
	_, _, err := rlock.New(l.client, l.name).TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrKeyConflict, "and the other way round")
}

func TestALatchOfAClosedClient(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	rdb := redis.NewClient(&redis.Options{Addr: l.server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	closing := latch.New(client, l.name)
	require.NoError(t, closing.Set(t.Context(), 1))
	waited := make(chan error, 1)
	go func() { waited <- closing.Wait(context.Background()) }()
	redistest.Eventually(t, patience, func() bool {
		return l.direct.PubSubNumSub(t.Context(), l.channel()).Val()[l.channel()] > 0
	}, "it listens")
	require.NoError(t, client.Close())
	require.ErrorIs(t, arrives(t, waited, "Close ends waits"), rlock.ErrClosed)
	for what, call := range calls(closing) {
		require.ErrorIs(t, call(t.Context()), rlock.ErrClosed, what)
	}
	l.is(1)
}
