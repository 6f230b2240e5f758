package semaphore_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// calls are all calls of both kinds, with good arguments.
func calls(s *semaphore.Semaphore, c *semaphore.Counting) map[string]func(ctx context.Context) error {
	fn := func(context.Context) error { return nil }
	return map[string]func(ctx context.Context) error{
		"Delete":      func(ctx context.Context) error { return s.Delete(ctx) },
		"SetCapacity": func(ctx context.Context) error { return s.SetCapacity(ctx, 1) },
		"Acquire":     func(ctx context.Context) error { return ignore(s.Acquire(ctx, 1)) },
		"TryAcquire":  func(ctx context.Context) error { return ignore(s.TryAcquire(ctx, 1)) },
		"Do":          func(ctx context.Context) error { return s.Do(ctx, 1, fn) },
		"Inspect":     func(ctx context.Context) error { _, err := s.Inspect(ctx); return err },
		"Break":       func(ctx context.Context) error { return s.Break(ctx, "a:1") },

		"counting Set":        func(ctx context.Context) error { return c.Set(ctx, 1) },
		"counting Acquire":    func(ctx context.Context) error { return c.Acquire(ctx, 1) },
		"counting TryAcquire": func(ctx context.Context) error { return c.TryAcquire(ctx, 1) },
		"counting Release":    func(ctx context.Context) error { return c.Release(ctx, 1) },
		"counting Delete":     func(ctx context.Context) error { return c.Delete(ctx) },
		"counting Drain":      func(ctx context.Context) error { _, err := c.Drain(ctx); return err },
		"counting Available":  func(ctx context.Context) error { _, err := c.Available(ctx); return err },
	}
}

func ignore(_ context.Context, _ func() error, err error) error { return err }

// refused asserts that a call is refused for a bad argument.
func refused(t *testing.T, err error, what string) {
	t.Helper()
	var bad *rlock.ArgumentError
	require.ErrorAs(t, err, &bad, what)
	require.NotEmpty(t, bad.Name, what)
}

// Bad arguments are told before anything is sent: not even a connection is made.
func TestBadArgumentsOfPermits(t *testing.T) {
	t.Parallel()
	var sent redistest.Meter
	client := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{Lease: time.Second})
	ctx := t.Context()
	s, c := semaphore.New(client, "bad"), semaphore.NewCounting(client, "bad")
	for _, n := range []int64{0, -1, math.MinInt64, 10_001, math.MaxInt64} {
		refused(t, ignore(s.Acquire(ctx, n)), "Acquire")
		refused(t, ignore(s.TryAcquire(ctx, n)), "TryAcquire")
		refused(t, s.Do(ctx, n, func(context.Context) error { return nil }), "Do")
	}
	for _, n := range []int64{-1, math.MinInt64, math.MaxInt32 + 1, math.MaxInt64} {
		refused(t, s.SetCapacity(ctx, n), "SetCapacity")
		refused(t, c.Set(ctx, n), "Set")
	}
	for _, n := range []int64{0, -1, math.MinInt64, math.MaxInt32 + 1, math.MaxInt64} {
		refused(t, c.Acquire(ctx, n), "counting Acquire")
		refused(t, c.TryAcquire(ctx, n), "counting TryAcquire")
		refused(t, c.Release(ctx, n), "counting Release")
	}
	type made struct {
		s *semaphore.Semaphore
		c *semaphore.Counting
	}
	long, badOption := strings.Repeat("x", 1025), rlock.MaxWait(-1)
	for what, m := range map[string]made{
		"no name":       {semaphore.New(client, ""), semaphore.NewCounting(client, "")},
		"a long name":   {semaphore.New(client, long), semaphore.NewCounting(client, long)},
		"a bad option":  {semaphore.New(client, "x", badOption), semaphore.NewCounting(client, "x", badOption)},
		"no client":     {semaphore.New(nil, "x"), semaphore.NewCounting(nil, "x")},
		"a zero client": {semaphore.New(&rlock.Client{}, "x"), semaphore.NewCounting(&rlock.Client{}, "x")},
		"a zero value":  {&semaphore.Semaphore{}, &semaphore.Counting{}},
	} {
		for name, call := range calls(m.s, m.c) {
			refused(t, call(ctx), what+": "+name)
		}
	}
	for name, call := range calls(s, c) {
		var none context.Context
		refused(t, call(none), name)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for name, call := range calls(s, c) {
		require.ErrorIs(t, call(over), context.Canceled, name)
	}
	require.Zero(t, sent.Sent())
}

// A name that something else uses is a conflict, and nothing changes: neither "none free", for which
// one would wait, nor a deletion.
func TestNamesThatSomethingElseUses(t *testing.T) {
	t.Parallel()
	for what, put := range map[string]func(l *lab) error{
		"a lock": func(l *lab) error {
			_, _, err := rlock.New(l.client, l.name, rlock.FixedLease(time.Hour)).Lock(l.Context())
			l.Cleanup(func() { _ = rlock.New(l.client, l.name).Break(context.Background()) })
			return err
		},
		"a text": func(l *lab) error { return l.direct.Set(l.Context(), l.name, "text", 0).Err() },
		"a list": func(l *lab) error { return l.direct.RPush(l.Context(), l.name, "x").Err() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil)
			require.NoError(t, put(l))
			before := l.direct.Dump(t.Context(), l.name).Val()
			all := calls(semaphore.New(l.client, l.name), semaphore.NewCounting(l.client, l.name))
			delete(all, "Break") // it needs no more than that the hold is not there
			for name, call := range all {
				require.ErrorIs(t, call(l.bounded()), rlock.ErrKeyConflict, name)
			}
			require.Equal(t, before, l.direct.Dump(t.Context(), l.name).Val())
			require.Zero(t, l.direct.Exists(t.Context(), l.leases()).Val())
		})
	}
	l := newLab(t, nil)
	s := l.leased(3)
	_, _, err := rlock.New(l.client, l.name).TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrKeyConflict, "and the other way round")
	require.NoError(t, l.direct.Set(t.Context(), l.leases(), "x", 0).Err())
	require.ErrorIs(t, ignore(s.Acquire(t.Context(), 1)), rlock.ErrKeyConflict)
	l.is(3)
}

func TestPermitsOfAClosedClient(t *testing.T) {
	t.Parallel()
	var sent redistest.Meter
	client := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{Lease: time.Second})
	name := redistest.Key(t)
	s, c := semaphore.New(client, name), semaphore.NewCounting(client, name+":c")
	require.NoError(t, s.SetCapacity(t.Context(), 1))
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	waiter := make(chan error, 1)
	go func() { waiter <- c.Acquire(context.Background(), 1) }()
	require.ErrorContains(t, client.Close(), name)
	require.ErrorIs(t, context.Cause(held), rlock.ErrClosed)
	require.ErrorIs(t, arrives(t, waiter, "Close ends waits"), rlock.ErrClosed)
	for what, call := range calls(s, c) {
		require.ErrorIs(t, call(t.Context()), rlock.ErrClosed, what)
	}
	require.ErrorIs(t, release(), rlock.ErrClosed)
	other := semaphore.New(newClient(t, redistest.Shared(t).Addr(), nil), name)
	_, release, err = other.TryAcquire(t.Context(), 1)
	require.NoError(t, err, "what was held is released")
	require.NoError(t, release())
}
