package redlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// crashed is what stands after a node that had granted was restarted empty.
type crashed struct {
	*lab
	options redlock.Options
	client  *redlock.Client // of the holder
	lock    *rlock.Lock
	held    context.Context
	unlock  func() error
	rival   *redlock.Client
}

// crash is interleaving 1: a holder on nodes 0 and 1 alone, of which the second is killed and comes back
// empty, and a foreign client that runs our scripts there, so that they are known to it.
func crash(t *testing.T, o, rival redlock.Options) *crashed {
	t.Helper()
	c := &crashed{lab: newLab(t, 3), options: o}
	c.client = c.lab.client(c.proxied(), o)
	c.rival = c.lab.client(c.direct(), rival)
	c.lock = redlock.New(c.client, "guarded")
	for _, client := range []*redlock.Client{c.client, c.rival} {
		warm := redlock.New(client, "warm")
		redistest.Eventually(t, patience, func() bool {
			_, unlock, err := warm.TryLock(within(t))
			return err == nil && unlock() == nil
		}, "nodes should vote when they have been up for the guard time")
	}
	c.soonOn("warm")

	c.proxies[2].Blackhole(true) // to the holder it is away
	c.held, c.unlock = take(t, c.lock)
	c.soonOn("guarded", 0, 1)
	c.servers[1].Kill()
	c.servers[1].Restart()
	require.Empty(t, c.fields(1, "guarded"), "it forgot")
	foreign := c.servers[1].Client(t)
	_, err := luacall.QuorumAcquire(luacall.QuorumAcquireArgs{
		Lock: "theirs", Token: "theirs:token", ID: "f:1", Lease: 1, NotAfter: 1 << 60, FenceTTL: -1,
	}).Run(within(t), foreign)
	require.NoError(t, err)
	known, err := foreign.ScriptExists(within(t), luacall.SHA("quorum_acquire")).Result()
	require.NoError(t, err)
	require.Equal(t, []bool{true}, known)
	return c
}

// Bug 46: a restarted node has no vote, so nobody else reaches a quorum while the holder's hold is live;
// afterwards the node votes again.
func TestARestartedNodeGivesNothingAway(t *testing.T) {
	t.Parallel()
	o := options(3 * time.Second)
	c := crash(t, o, o)
	t.Run("without the guard it does", func(t *testing.T) {
		lock := redlock.New(c.rival, "guarded")
		theirs, unlock, err := lock.TryLock(within(t))
		require.NoError(t, err)
		require.NoError(t, theirs.Err())
		require.NoError(t, c.held.Err(), "two hold it: that is what the guard is for")
		require.NoError(t, unlock())
	})
	o.NoRestartGuard = false
	crash(t, o, o).givesNothingAway()
}

// defect A7: while a deployment that lengthens leases is under way, processes with old and new leases contend. In
// the documented order all of them have the longer guard by then, so none trusts a node that may have forgotten.
func TestLongerLeasesBesideShorterOnes(t *testing.T) {
	t.Parallel()
	o := options(3 * time.Second)
	o.NoRestartGuard = false
	old := options(time.Second)
	old.RestartGuard, old.NoRestartGuard = o.Lease, false
	crash(t, o, old).givesNothingAway()
}

// defect A7: nothing checked that guards are the same. In the wrong order a process with the shorter one finds
// locks that outlive it, and says so.
func TestALeaseLongerThanTheGuardIsWarnedOf(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	var log textlog.Log
	old := options(time.Second)
	old.Logger = log.Logger()
	oldLock := redlock.New(l.client(l.direct(), old), "mixed")
	once(t, oldLock)
	_, unlock := take(t, redlock.New(l.client(l.direct(), options(time.Minute)), "mixed"))
	l.soonOn("mixed", 0, 1, 2)
	for range 3 {
		_, _, err := oldLock.TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrBusy)
	}
	require.NoError(t, unlock())
	require.Equal(t, 1, strings.Count(log.String(), "RestartGuard"), log.String())
}

// givesNothingAway asserts that nobody reaches a quorum while the holder's hold may be live.
func (c *crashed) givesNothingAway() {
	t := c.t
	t.Helper()
	lock := redlock.New(c.rival, "guarded")
	refusals := 0
	for alive := true; alive; {
		_, unlock, err := lock.TryLock(within(t))
		hold, heldErr := c.lock.Held(c.held)
		alive = heldErr == nil && time.Now().Before(hold.ValidUntil)
		if alive {
			require.Error(t, err, "the first holder is valid until %v", hold.ValidUntil)
			refusals++
		}
		if err == nil {
			require.NoError(t, unlock())
		}
	}
	require.Positive(t, refusals)
	require.ErrorIs(t, c.unlock(), rlock.ErrLost, "its other node is gone, and cannot renew")
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := lock.TryLock(within(t))
		return err == nil && unlock() == nil
	}, "when the guard time is over the node votes again")
}

// A node that was refused is not dialled again and again until its time has come, and what is acquired
// meanwhile costs no commands beside its own.
func TestARefusedNodeIsLeftAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(2 * time.Second)
	o.RestartGuard, o.NoRestartGuard = time.Hour, false
	client := l.client(l.direct(), o)
	lock := redlock.New(client, "young")
	for range 50 {
		_, _, err := lock.TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.ErrorIs(t, err, redlock.ErrRestarted)
		var node *redlock.NodeError
		require.ErrorAs(t, err, &node)
	}
	for i, s := range l.servers {
		// Two refusals decide a call, so the third node's dial may still be under way.
		redistest.Eventually(t, patience, func() bool { return s.Calls(t, "role") > 0 }, "nobody asked the node")
		require.Equal(t, int64(1), s.Calls(t, "role"), "server %d was dialled once", i)
		require.Zero(t, s.Calls(t, "evalsha"))
		require.Empty(t, s.Keys(t))
	}
}

// The guard costs an acquisition nothing: it looks at connections.
func TestTheGuardIsAskedOncePerConnection(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(2 * time.Second)
	o.NoRestartGuard = false
	client := l.client(l.direct(), o)
	lock := redlock.New(client, "cheap")
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := lock.TryLock(within(t))
		return err == nil && unlock() == nil
	}, "the nodes should come to vote")
	_, unlock := take(t, lock)
	l.soonOn("cheap", 0, 1, 2)
	require.NoError(t, unlock())
	l.soonOn("cheap")
	var before []int64
	for _, s := range l.servers {
		before = append(before, s.Calls(t, "role"), s.Calls(t, "evalsha"), s.Calls(t, "eval"))
	}
	const rounds = 300
	for range rounds {
		once(t, lock)
	}
	l.soonOn("cheap")
	for i, s := range l.servers {
		// Not one per round; a busy machine may lose a connection.
		require.LessOrEqual(t, s.Calls(t, "role")-before[3*i], int64(3))
		require.LessOrEqual(t, s.Calls(t, "eval")-before[3*i+2], int64(3))
		require.LessOrEqual(t, s.Calls(t, "evalsha")-before[3*i+1], int64(2*rounds),
			"one script to acquire and one to release")
	}
}

// Behind a proxy that keeps the client's connections through the server's restart, the script asks for the
// uptime.
func TestBehindAProxyEveryVoteIsGuarded(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(2 * time.Second)
	o.NoRestartGuard, o.BehindProxy = false, true
	client := l.client(l.direct(), o)
	lock := redlock.New(client, "proxied")
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := lock.TryLock(within(t))
		return err == nil && unlock() == nil
	}, "the nodes should come to vote")
	for _, s := range l.servers {
		infos := s.Calls(t, "info")
		once(t, lock)
		redistest.Eventually(t, patience, func() bool { return s.Calls(t, "info") > infos }, "INFO by the script")
	}
	young, err := luacall.QuorumAcquire(luacall.QuorumAcquireArgs{
		Lock: "k", Token: "t", ID: "a:1", Lease: 1000, NotAfter: 1 << 60, FenceTTL: -1, LeastUptime: 1 << 40,
	}).Run(within(t), l.servers[0].Client(t))
	require.NoError(t, err)
	require.Equal(t, luacall.Young, young.Status)
	require.ErrorIs(t, l.servers[0].Client(t).Get(within(t), "t").Err(), redis.Nil)
}
