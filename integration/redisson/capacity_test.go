package redisson_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// A capacity that either side begins, changes or deletes is the other side's too. Nobody polls.
func TestACapacityIsShared(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a, b, p, ctx := j.thread("a"), j.thread("b"), permitGo{g}, t.Context()
	s := semaphore.New(g.client, "capacity", semaphore.WaitForCapacity())
	numbers := func(free, all int64) {
		t.Helper()
		capacity, err := s.Capacity(ctx)
		require.NoError(t, err)
		available, err := s.Available(ctx)
		require.NoError(t, err)
		require.Equal(t, []int64{free, all}, []int64{available, capacity})
	}
	require.Equal(t, "true", a.do("permit.begin", "capacity", "3"))
	capacity, err := s.SetCapacityIfAbsent(ctx, 9)
	require.NoError(t, err)
	require.Equal(t, int64(3), capacity, "Java's counts")
	theirs := a.do("permit.acquire", "capacity", "2", hour)
	numbers(1, 3)

	entering := p.waitsFor(permitChannel("capacity"), func(ctx context.Context) error {
		return s.Do(ctx, 5, func(context.Context) error { return nil })
	})
	a.do("permit.add", "capacity", "3")
	require.Empty(t, entering, "two of six are Java's")
	a.do("permit.add", "capacity", "1")
	p.comes(entering)
	numbers(5, 7)

	waiting := b.waiting("permit.acquire", "capacity", "6", hour)
	capacity, err = s.AddCapacity(ctx, -7)
	require.NoError(t, err)
	require.Zero(t, capacity)
	require.Equal(t, "-2", a.do("permit.available", "capacity"))
	require.Equal(t, "0", a.do("permit.all", "capacity"))
	numbers(0, 0)
	require.Empty(t, waiting)
	capacity, err = s.AddCapacity(ctx, 8)
	require.NoError(t, err)
	require.Equal(t, int64(8), capacity)
	more := javaArrives(t, waiting)
	a.do("permit.release", "capacity", more)
	require.ErrorIs(t, s.Delete(ctx), rlock.ErrBusy)
	a.do("permit.release", "capacity", theirs)
	numbers(8, 8)

	require.NoError(t, s.Delete(ctx))
	require.Equal(t, "0", a.do("permit.all", "capacity"))
	capacity, err = s.SetCapacityIfAbsent(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, int64(2), capacity)
	require.Equal(t, "false", a.do("permit.begin", "capacity", "5"))
	require.Equal(t, "true", a.do("permit.delete", "capacity"))
	_, err = s.Capacity(ctx)
	require.ErrorIs(t, err, semaphore.ErrNoCapacity)
	_, err = s.AddCapacity(ctx, 1)
	require.ErrorIs(t, err, semaphore.ErrNoCapacity, "where Java makes one")
}

// A message about fewer permits wakes nobody in Java, and breaks no listener there.
func TestACountingCapacityIsShared(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a, ctx := j.thread("a"), t.Context()
	s := semaphore.NewCounting(g.client, "adding")
	waiting := a.waiting("count.acquire", "adding", "2")
	require.NoError(t, s.AddCapacity(ctx, -1))
	require.NoError(t, s.AddCapacity(ctx, 2))
	require.Empty(t, waiting)
	require.NoError(t, s.AddCapacity(ctx, 1))
	javaArrives(t, waiting)
	a.do("count.add", "adding", "4")
	require.NoError(t, s.AddCapacity(ctx, -3))
	require.Equal(t, "1", a.do("count.available", "adding"))
	require.Equal(t, "true", a.do("count.delete", "adding"))
	available, err := s.Available(ctx)
	require.NoError(t, err)
	require.Zero(t, available)
	require.NoError(t, s.Set(ctx, 3), "there is none")
	require.NoError(t, s.Delete(ctx))
	require.Equal(t, "true", a.do("count.set", "adding", "2"))
}
