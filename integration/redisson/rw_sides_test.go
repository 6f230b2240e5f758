package redisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// Readers of both kinds are inside together, and a writer of either kind is alone.
func TestRWSharedWithJava(t *testing.T) {
	t.Parallel()
	rdb, j, g := rwOne(t, javaOptions{}, rlock.ClientOptions{})
	a, b := j.thread("a"), j.thread("b")
	both := g.both("shared")

	a.do("rw.read.lock", "shared")
	ours := g.read("shared")
	require.Equal(t, "true", b.do("rw.read.try", "shared", "0"))
	g.isBusy(both.Write())
	require.Equal(t, "false", j.thread("c").do("rw.write.try", "shared", "0"))
	require.Equal(t, "true", a.do("rw.read.locked", "shared"))
	require.Equal(t, "false", a.do("rw.write.locked", "shared"))
	a.do("rw.read.unlock", "shared")
	b.do("rw.read.unlock", "shared")
	require.Equal(t, "false", a.do("rw.write.try", "shared", "0"), "our reader is in")
	require.Len(t, rdb.HGetAll(t.Context(), "shared").Val(), 2)
	ours.frees(t)
	require.Equal(t, "true", a.do("rw.write.try", "shared", "0"))
	g.isBusy(both.Read())
	g.isBusy(both.Write())
	a.do("rw.write.unlock", "shared")

	w := g.write("shared")
	require.Equal(t, "true", a.do("rw.write.locked", "shared"))
	require.Equal(t, "false", a.do("rw.read.locked", "shared"))
	require.Equal(t, "false", a.do("rw.read.try", "shared", "0"))
	require.Equal(t, "false", a.do("rw.write.try", "shared", "0"))
	require.Contains(t, a.refused("rw.write.unlock", "shared"), "IllegalMonitorStateException")
	w.frees(t)
	require.Zero(t, rdb.Exists(t.Context(), "shared").Val())
	require.Empty(t, holdKeys(t, rdb, "shared"))
}

// Levels of both kinds, as the other one sees them.
func TestRWLevels(t *testing.T) {
	t.Parallel()
	rdb, j, g := rwOne(t, javaOptions{}, rlock.ClientOptions{})
	a, b := j.thread("a"), j.thread("b")
	both := g.both("levels")
	look := func(lock *rlock.Lock) rlock.Holder {
		t.Helper()
		info, err := lock.Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		return info.Holders[0]
	}
	owner := a.do("owner", "levels")
	for _, side := range []string{"read", "write"} {
		lock := map[string]*rlock.Lock{"read": both.Read(), "write": both.Write()}[side]
		a.do("rw."+side+".lock", "levels")
		a.do("rw."+side+".lock", "levels")
		require.Equal(t, owner, look(lock).ID)
		require.Equal(t, 2, look(lock).Count)
		a.do("rw."+side+".unlock", "levels")
		require.Equal(t, 1, look(lock).Count)
		a.do("rw."+side+".unlock", "levels")

		outer := g.take(lock, context.Background())
		inner := g.take(lock, outer.ctx)
		third := g.take(lock, inner.ctx)
		third.frees(t)
		require.Equal(t, "0", a.do("rw."+side+".count", "levels"))
		require.Equal(t, "false", b.do("rw.write.try", "levels", "0"))
		inner.frees(t)
		require.Equal(t, "false", b.do("rw.write.try", "levels", "0"))
		outer.frees(t)
		require.Equal(t, "true", b.do("rw.write.try", "levels", "0"))
		b.do("rw.write.unlock", "levels")
	}
	require.Empty(t, rdb.Keys(t.Context(), "*levels*:rwlock_timeout:*").Val())
}

// Each side wakes the other's waiters with its message alone: no side polls, and no lease ends.
func TestRWWakeUps(t *testing.T) {
	t.Parallel()
	_, j, g := rwOne(t, javaOptions{}, rlock.ClientOptions{})
	a, b, c := j.thread("a"), j.thread("b"), j.thread("c")
	both := g.both("woken")

	w := g.write("woken") // wakes readers of Java, together
	one, two := a.waiting("rw.read.lock", "woken"), b.waiting("rw.read.lock", "woken")
	w.frees(t)
	javaArrives(t, one)
	javaArrives(t, two)
	ours := g.waitFor(both.Write()) // is woken by their last one
	a.do("rw.read.unlock", "woken")
	require.Empty(t, ours)
	b.do("rw.read.unlock", "woken")
	g.arrives(ours).frees(t)

	r, r2 := g.read("woken"), g.read("woken") // the last one wakes a writer of Java
	writer := c.waiting("rw.write.lock", "woken")
	r.frees(t)
	require.Empty(t, writer)
	r2.frees(t)
	javaArrives(t, writer)
	mine, mine2 := g.waitFor(both.Read()), g.waitFor(both.Read())
	c.do("rw.write.unlock", "woken")
	g.arrives(mine).frees(t)
	g.arrives(mine2).frees(t)

	// Redisson's D32: a writer that changes to reading lets other readers in at once, which Redisson does not
	// announce.
	w = g.write("woken")
	kept := g.take(both.Read(), context.WithoutCancel(w.ctx))
	one = a.waiting("rw.read.lock", "woken")
	w.frees(t)
	javaArrives(t, one)
	a.do("rw.read.unlock", "woken")
	kept.frees(t)
}

// A release of either kind leaves the other's read holds alone, whatever leases they have (Redisson checks hold keys
// there, and treats a reader without one as dead).
func TestRWReleasesSpareTheOthers(t *testing.T) {
	t.Parallel()
	rdb, j, g := rwOne(t, javaOptions{watchdog: short}, rlock.ClientOptions{Lease: short})
	a := j.thread("a")
	both := g.both("spared")
	ours := g.read("spared")
	inner := g.take(both.Read(), ours.ctx)
	for range 3 {
		a.do("rw.read.lock", "spared")
		a.do("rw.read.lock", "spared")
		a.do("rw.read.unlock", "spared")
		a.do("rw.read.unlock", "spared")
		require.Equal(t, "read", rdb.HGet(t.Context(), "spared", "mode").Val())
		require.Len(t, holdKeys(t, rdb, "spared"), 1)
	}
	inner.frees(t)
	a.do("rw.read.lock", "spared")
	writer := j.thread("w").waiting("rw.write.lock", "spared")
	staysHeld(t, rdb, "spared", 3*short, writer) // both watchdogs renew
	ours.frees(t)
	require.Empty(t, writer)
	staysHeld(t, rdb, "spared", 2*short, writer)
	a.do("rw.read.unlock", "spared")
	javaArrives(t, writer)
	j.thread("w").do("rw.write.unlock", "spared")
}

// A dead reader of either kind does not keep our writer out for longer than its own lease, although a live one renews
// the lock all the time.
func TestRWDeadReaders(t *testing.T) {
	t.Parallel()
	rdb, j, g := rwOne(t, javaOptions{watchdog: short}, rlock.ClientOptions{Lease: short})
	dead := startJava(t, []string{g.servers[0].Addr()}, javaOptions{watchdog: short})
	alive := g.read("dead")
	dead.thread("a").do("rw.read.lock", "dead")
	dead.kill()
	w := g.another(rlock.ClientOptions{Lease: short, MaxPoll: short / 8})
	writer := w.waitFor(w.both("dead").Write())
	staysHeld(t, rdb, "dead", 2*short, writer)
	alive.frees(t)
	start := time.Now()
	g.arrives(writer).frees(t)
	require.Less(t, time.Since(start), short/2, "the dead reader's lease was over long before")

	// Java's writer relies on the lease of the lock as a whole.
	child := rwReader.Start(t, orders{Addr: g.servers[0].Addr(), Name: "dead", Lease: short})
	child.Hears("ready")
	child.Kill()
	j.thread("w").do("rw.write.lock", "dead")
	j.thread("w").do("rw.write.unlock", "dead")
}

// An operator's Break ends Java's holds of one side, and Redisson's forceUnlock ours.
func TestRWOperators(t *testing.T) {
	t.Parallel()
	_, j, g := rwOne(t, javaOptions{}, rlock.ClientOptions{})
	a, b := j.thread("a"), j.thread("b")
	both := g.both("operators")
	a.do("rw.write.lock", "operators")
	waiting := b.waiting("rw.write.lock", "operators")
	require.ErrorIs(t, both.Read().Break(t.Context()), rlock.ErrNotHeld)
	require.NoError(t, both.Write().Break(t.Context()))
	javaArrives(t, waiting)
	require.Contains(t, a.refused("rw.write.unlock", "operators"), "IllegalMonitorStateException")
	b.do("rw.write.unlock", "operators")

	a.do("rw.read.lock", "operators")
	b.do("rw.read.lock", "operators")
	ours := g.waitFor(both.Write())
	require.NoError(t, both.Read().Break(t.Context()))
	o := g.arrives(ours)
	require.Contains(t, a.refused("rw.read.unlock", "operators"), "IllegalMonitorStateException")
	require.Equal(t, "true", b.do("rw.write.forceunlock", "operators"))
	require.ErrorIs(t, o.unlock(), rlock.ErrLost)
}
