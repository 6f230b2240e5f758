package redisson_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Each side renews for longer than a lease, while the other asks again and again.
func TestEachSideRenews(t *testing.T) {
	t.Parallel()
	const while = short * 9 / 4
	server, j, g := one(t, javaOptions{watchdog: short},
		rlock.ClientOptions{Lease: short, MaxPoll: 50 * time.Millisecond})
	rdb, a := server.Client(t), j.thread("a")

	a.do("lock", "renewed")
	entering := g.waiting("renewed")
	staysHeld(t, rdb, "renewed", while, entering)
	require.Equal(t, "true", a.do("mine", "renewed"))
	a.do("unlock", "renewed")
	o := g.arrives(entering)

	waiting := a.waiting("lock", "renewed")
	staysHeld(t, rdb, "renewed", while, waiting)
	require.NoError(t, o.ctx.Err())
	require.NoError(t, o.unlock())
	javaArrives(t, waiting)
	a.do("unlock", "renewed")
}

// A lease that Java gave and does not renew ends by itself, without a message.
func TestJavasFixedLeaseEnds(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	start := time.Now()
	j.thread("a").do("lease", "fixed", "2000")
	entering := g.waiting("fixed")
	o := g.arrives(entering)
	require.GreaterOrEqual(t, time.Since(start), 2*time.Second-time.Millisecond, "in before the lease was over")
	require.Contains(t, j.thread("a").refused("unlock", "fixed"), "IllegalMonitorStateException")
	require.NoError(t, o.ctx.Err())
	require.NoError(t, o.unlock())
}

// And so does one of ours. Java gets the lock when the owner no longer treats its hold as live.
func TestOurFixedLeaseEnds(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	ctx, unlock, err := rlock.New(g.client, "fixed", rlock.FixedLease(2*time.Second)).TryLock(t.Context())
	require.NoError(t, err)
	javaArrives(t, j.thread("a").start("lock", "fixed"))
	require.Error(t, ctx.Err(), "two believe in their holds")
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	require.Equal(t, "true", j.thread("a").do("mine", "fixed"))
	j.thread("a").do("unlock", "fixed")
}

// leaseLeft is the rest of the lease that a killed holder left behind.
func leaseLeft(t *testing.T, rdb *redis.Client, key string) time.Duration {
	t.Helper()
	left, err := rdb.PTTL(t.Context(), key).Result()
	require.NoError(t, err)
	require.Positive(t, left)
	return left
}

// The Java process is killed: its lock is free when the lease has ended, and not before.
func TestKilledJavaProcess(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{watchdog: short}, rlock.ClientOptions{})
	rdb := server.Client(t)
	j.thread("a").do("lock", "killed")
	entering := g.waiting("killed")
	staysHeld(t, rdb, "killed", short, entering) // so that it is not the lease that the waiter was told of first

	j.kill()
	start := time.Now()
	left := leaseLeft(t, rdb, "killed")
	o := g.arrives(entering)
	took := time.Since(start)
	require.GreaterOrEqual(t, took, left-time.Millisecond, "in before the lease was over")
	require.NoError(t, o.unlock())
	t.Logf("lease left %v, in after %v", left, took)
}

// A process of ours is killed.
func TestKilledGoProcess(t *testing.T) {
	t.Parallel()
	classPath(t)
	server := redistest.Start(t)
	j, rdb := startJava(t, []string{server.Addr()}, javaOptions{}), server.Client(t)
	child := holder.Start(t, orders{Addr: server.Addr(), Name: "killed", Lease: short})
	child.Hears("held")
	waiting := j.thread("a").waiting("lock", "killed")
	staysHeld(t, rdb, "killed", short, waiting)

	child.Kill()
	start := time.Now()
	left := leaseLeft(t, rdb, "killed")
	javaArrives(t, waiting)
	took := time.Since(start)
	require.GreaterOrEqual(t, took, left-time.Millisecond, "in before the lease was over")
	require.Equal(t, "true", j.thread("a").do("mine", "killed"))
	t.Logf("lease left %v, in after %v", left, took)
}
