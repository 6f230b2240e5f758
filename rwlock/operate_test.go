package rwlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

func TestInspectTellsOfOneSide(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	b := l.peer(rlock.ClientOptions{}, rlock.FixedLease(time.Minute))
	w := a.write()
	again := a.take(a.Write(), w.ctx)
	r := a.take(a.Read(), context.WithoutCancel(w.ctx))
	look := func(lock *rlock.Lock) rlock.Info {
		t.Helper()
		info, err := lock.Inspect(t.Context())
		require.NoError(t, err)
		return info
	}
	writers, readers := look(b.Write()), look(a.Read())
	require.Len(t, writers.Holders, 1)
	require.Equal(t, w.known(t).ID, writers.Holders[0].ID)
	require.Equal(t, 1, writers.Holders[0].Count, "Redis counts no levels of a read-write lock")
	require.False(t, writers.Holders[0].Mine)
	require.True(t, look(a.Write()).Holders[0].Mine)
	require.Len(t, readers.Holders, 1)
	require.Equal(t, r.known(t).ID, readers.Holders[0].ID)
	require.Equal(t, w.known(t).Fence, readers.Holders[0].Fence)
	again.frees(t)
	w.frees(t)

	other := b.read()
	c := l.peer(rlock.ClientOptions{})
	writer := c.wait(c.Write())
	l.gated()
	readers = look(b.Read())
	require.Empty(t, look(b.Write()).Holders)
	require.Len(t, readers.Holders, 2)
	for _, h := range readers.Holders {
		require.Equal(t, h.ID == other.known(t).ID, h.Mine)
		require.Equal(t, h.ID == other.known(t).ID, h.TTL <= time.Minute, "each has its own lease")
	}
	// On a busy machine the answer to one of the readers took so long that it subscribed. It leaves in the background.
	redistest.Eventually(t, patience, func() bool { return look(c.Write()).Waiters == 1 }, "only the writer listens")
	waiting := look(c.Write())
	require.Equal(t, 1, waiting.Waiters)
	require.Len(t, waiting.Queue, 1)
	require.True(t, waiting.Queue[0].Mine)
	r.frees(t)
	other.frees(t)
	l.arrives(writer).frees(t)
	require.Empty(t, look(a.Read()).Holders)
	l.clean()
}

func TestBreakTakesOneSide(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{Lease: 900 * time.Millisecond}), l.peer(rlock.ClientOptions{})
	w := a.write()
	r := a.take(a.Read(), context.WithoutCancel(w.ctx))
	waiting := b.wait(b.Read())
	l.listened()
	require.NoError(t, b.Write().Break(t.Context()))
	require.ErrorIs(t, w.ends(t), rlock.ErrLost)
	require.ErrorIs(t, w.unlock(), rlock.ErrLost)
	other := l.arrives(waiting) // the writer's read hold stands, and others come in
	r.known(t)

	c := l.peer(rlock.ClientOptions{})
	writer := c.wait(c.Write())
	l.gated()
	require.ErrorIs(t, a.Write().Break(t.Context()), rlock.ErrNotHeld)
	require.NoError(t, a.Read().Break(t.Context()))
	require.ErrorIs(t, r.ends(t), rlock.ErrLost)
	require.ErrorIs(t, r.unlock(), rlock.ErrLost)
	got := l.arrives(writer)
	require.ErrorIs(t, other.unlock(), rlock.ErrLost)
	require.ErrorIs(t, a.Read().Break(t.Context()), rlock.ErrNotHeld)
	got.frees(t)
	l.clean()
}

// A hold moves to another process: it is never in two, and the read hold beside it stays.
func TestHoldsMove(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"read", "write"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
			from, to := a.Write(), b.Write()
			if side == "read" {
				from, to = a.Read(), b.Read()
			}
			h := a.take(from, context.Background())
			fence := h.known(t).Fence
			token, err := from.Export(h.ctx)
			require.NoError(t, err)
			require.ErrorIs(t, h.unlock(), rlock.ErrNotHeld)
			b.busy(b.Write())
			ctx, unlock, err := to.Import(context.Background(), token)
			require.NoError(t, err)
			moved := hold{to, ctx, unlock, nil}
			require.Equal(t, fence, moved.known(t).Fence)
			_, _, err = to.Import(context.Background(), token)
			require.ErrorIs(t, err, rlock.ErrNotHeld)
			inner := b.take(to, moved.ctx)
			inner.frees(t)
			a.busy(a.Write())
			moved.frees(t)
			l.clean()
		})
	}
}

func TestBadArgumentsAreToldByEveryCall(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	for what, lock := range map[string]*rwlock.Lock{
		"no client":    rwlock.New(nil, "x"),
		"zero client":  rwlock.New(new(rlock.Client), "x"),
		"no name":      rwlock.New(a.client, ""),
		"a long name":  rwlock.New(a.client, strings.Repeat("x", 1<<20)),
		"a bad option": rwlock.New(a.client, "x", rlock.MaxWait(-1)),
	} {
		for _, side := range []*rlock.Lock{lock.Read(), lock.Write()} {
			require.NotNil(t, side, what)
			var wrong *rlock.ArgumentError
			_, unlock, err := side.Lock(t.Context())
			require.ErrorAs(t, err, &wrong, what)
			require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
			_, err = side.Inspect(t.Context())
			require.ErrorAs(t, err, &wrong, what)
		}
	}
	require.Equal(t, l.name, a.Read().Name())
	require.Equal(t, l.name, a.Write().Name())
}

// G14: what somebody else put at the name is told as a conflict, and left alone; and the other way round.
func TestAnotherPrimitivesNameIsAConflict(t *testing.T) {
	t.Parallel()
	for what, put := range map[string]func(ctx context.Context, rdb *redis.Client, key string) error{
		"a string": func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Set(ctx, key, "x", time.Minute).Err()
		},
		"an application's hash": func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.HSet(ctx, key, "mode", "dark").Err()
		},
		"a set": func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.SAdd(ctx, key, "x").Err()
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			a := l.peer(rlock.ClientOptions{})
			require.NoError(t, put(t.Context(), l.rdb, l.name))
			l.conflicts(a)
		})
	}
	t.Run("a reentrant lock", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		a := l.peer(rlock.ClientOptions{})
		lock := rlock.New(a.client, l.name)
		_, unlock, err := lock.Lock(t.Context())
		require.NoError(t, err)
		b := l.peer(rlock.ClientOptions{})
		l.conflicts(b)
		require.NoError(t, unlock())
		for _, side := range []*rlock.Lock{a.Read(), a.Write()} {
			h := a.take(side, context.Background())
			_, _, err = rlock.New(b.client, l.name).TryLock(t.Context())
			require.ErrorIs(t, err, rlock.ErrKeyConflict)
			h.frees(t)
		}
	})
}

// conflicts asserts that neither side is granted, and that nothing changes.
func (l *lab) conflicts(p *peer) {
	l.Helper()
	before := l.rdb.Dump(context.Background(), l.name).Val()
	for _, side := range []*rlock.Lock{p.Read(), p.Write()} {
		_, _, err := side.Lock(context.Background())
		require.ErrorIs(l, err, rlock.ErrKeyConflict)
		_, err = side.Inspect(context.Background())
		require.ErrorIs(l, err, rlock.ErrKeyConflict)
	}
	require.Equal(l, before, l.rdb.Dump(context.Background(), l.name).Val())
}

// Names with spaces, braces and bytes that are no text are names like others.
func TestNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	for i, name := range []string{"a b", "{tag}:x", "a{b}c", "{", "}", "{}", "\x00\xff", "%s", "mode", ":write", "日本"} {
		name = fmt.Sprint(name, ":", l.name, i)
		lock := rwlock.New(a.client, name)
		w := a.take(lock.Write(), context.Background())
		r := a.take(lock.Read(), context.WithoutCancel(w.ctx))
		w.frees(t)
		inner := a.take(lock.Read(), r.ctx)
		inner.frees(t)
		r.frees(t)
	}
	l.clean()
}
