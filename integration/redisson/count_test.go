package redisson_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// A counting semaphore is one number for both sides, and each wakes the other. Nobody polls.
func TestCountsAreShared(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a, p, ctx := j.thread("a"), permitGo{g}, t.Context()
	s := semaphore.NewCounting(g.client, "counted")
	require.NoError(t, s.Set(ctx, 3))
	require.Equal(t, "false", a.do("count.set", "counted", "9"))
	require.Equal(t, "3", a.do("count.available", "counted"))
	for range 10 {
		a.do("count.acquire", "counted", "3")
		require.ErrorIs(t, s.TryAcquire(ctx, 1), rlock.ErrBusy)
		entering := p.waitsFor(permitChannel("counted"), func(ctx context.Context) error {
			return s.Acquire(ctx, 2)
		})
		a.do("count.release", "counted", "1")
		require.Empty(t, entering, "two are not free")
		a.do("count.release", "counted", "1")
		p.comes(entering)

		waiting := a.waiting("count.acquire", "counted", "2")
		require.NoError(t, s.Release(ctx, 2))
		javaArrives(t, waiting)
		require.Equal(t, "false", a.do("count.try", "counted", "1"))
		require.NoError(t, s.Release(ctx, 3))
	}
	require.Equal(t, "3", a.do("count.drain", "counted"))
	a.do("count.add", "counted", "-2")
	available, err := s.Available(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(-2), available)
	require.Equal(t, "-2", a.do("count.available", "counted"), "as Redisson says")
	waiting := a.waiting("count.acquire", "counted", "1")
	require.NoError(t, s.Release(ctx, 2), "which leaves none, and breaks no listener")
	require.Empty(t, waiting)
	require.NoError(t, s.Release(ctx, 1))
	javaArrives(t, waiting)
	a.do("count.add", "counted", "4")
	drained, err := s.Drain(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(4), drained)

	require.Equal(t, "true", a.do("count.set", "theirs", "2"))
	require.ErrorIs(t, semaphore.NewCounting(g.client, "theirs").Set(ctx, 5), rlock.ErrBusy)
	require.NoError(t, semaphore.NewCounting(g.client, "theirs").Acquire(ctx, 2))
	require.Equal(t, "0", a.do("count.available", "theirs"))
}

// A latch is one count for both sides, and the last CountDown of either opens it for both. Nobody polls. What a deletion
// does is what docs/migration.md says (defect F26: it said that Java's wakes nobody).
func TestLatchesAreShared(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"latch", "{tag}:latch", "half{brace", "semi}brace", "Schlüssel"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
			shareLatch(t, j, permitGo{g}, name)
		})
	}
}

func shareLatch(t *testing.T, j *java, p permitGo, name string) {
	a, b, ctx := j.thread("a"), j.thread("b"), t.Context()
	l := latch.New(p.client, name)
	for round := range 10 {
		if round%2 == 0 {
			require.NoError(t, l.Set(ctx, 2))
			require.Equal(t, "false", a.do("latch.set", name, "5"))
		} else {
			require.Equal(t, "true", a.do("latch.set", name, "2"))
			require.ErrorIs(t, l.Set(ctx, 5), rlock.ErrBusy)
		}
		theirs := b.waiting("latch.await", name)
		ours := p.waitsFor(latchChannel(name), l.Wait)
		if round%4 < 2 {
			require.NoError(t, l.CountDown(ctx))
			require.Equal(t, "1", a.do("latch.count", name))
			require.Empty(t, ours)
			a.do("latch.down", name)
		} else {
			a.do("latch.down", name)
			require.Empty(t, theirs)
			require.NoError(t, l.CountDown(ctx))
		}
		p.comes(ours)
		javaArrives(t, theirs)
		require.Equal(t, "0", a.do("latch.count", name))
		count, err := l.Count(ctx)
		require.NoError(t, err)
		require.Zero(t, count)
	}
	// Our deletion releases Java's waiters; Redisson's own releases ours, and not Java's.
	require.NoError(t, l.Set(ctx, 3))
	theirs, ours := b.waiting("latch.await", name), p.waitsFor(latchChannel(name), l.Wait)
	require.NoError(t, l.Delete(ctx))
	javaArrives(t, theirs)
	p.comes(ours)
	require.NoError(t, l.Set(ctx, 3))
	theirs, ours = b.waiting("latch.await", name), p.waitsFor(latchChannel(name), l.Wait)
	require.Equal(t, "true", a.do("latch.delete", name))
	p.comes(ours)
	require.Empty(t, theirs)
	require.NoError(t, l.Set(ctx, 1))
	require.NoError(t, l.CountDown(ctx))
	javaArrives(t, theirs)
}

// The same on a cluster, where both publish by SPUBLISH from Redis 7 on.
func TestSynchronizersOnACluster(t *testing.T) {
	t.Parallel()
	classPath(t)
	lab := redistest.Cluster(t, 2)
	var servers []*redistest.Server
	for i := range lab.Len() {
		servers = append(servers, lab.Node(i))
	}
	j := startJava(t, lab.Addrs(), javaOptions{cluster: true})
	p := permitGo{newGo(t, lab.Client(t), rlock.ClientOptions{}, servers...)}
	a, ctx := j.thread("a"), t.Context()
	shareLatch(t, j, p, "latch")
	for i := range 8 { // on both nodes
		name := "counted" + strconv.Itoa(i)
		s := semaphore.NewCounting(p.client, name)
		waiting := a.waiting("count.acquire", name, "1")
		require.NoError(t, s.Set(ctx, 1))
		javaArrives(t, waiting)
		entering := p.waitsFor(permitChannel(name), func(ctx context.Context) error { return s.Acquire(ctx, 1) })
		a.do("count.release", name, "1")
		p.comes(entering)

		name = "leased" + strconv.Itoa(i)
		leased := semaphore.New(p.client, name)
		waiting = a.waiting("permit.acquire", name, "1", hour)
		require.NoError(t, leased.SetCapacity(ctx, 1))
		id := javaArrives(t, waiting)
		entering = p.waitsFor(permitChannel(name), func(ctx context.Context) error {
			return leased.Do(ctx, 1, func(context.Context) error { return nil })
		})
		a.do("permit.release", name, id)
		p.comes(entering)
		require.Equal(t, "1", a.do("permit.available", name))
	}
}
