package redlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 14, bug 46: a hold does not erode. Nodes that could not be reached when it was acquired, and nodes
// that forgot it, are given it with the next renewal, while a quorum has it; so it outlives the loss of the
// very nodes that granted it.
func TestNodesThatLackTheHoldAreGivenIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	client := l.client(l.proxied(), options(1500*time.Millisecond))
	lock := redlock.New(client, "eroding")
	l.proxies[3].Refuse(true)
	l.proxies[4].Refuse(true)
	ctx, unlock := take(t, lock)
	fence := alive(t, lock, ctx).Fence
	l.soonOn("eroding", 0, 1, 2)
	l.proxies[3].Refuse(false)
	l.proxies[4].Refuse(false)
	l.soonOn("eroding", 0, 1, 2, 3, 4)
	require.NoError(t, l.servers[0].Client(t).Del(within(t), "eroding", tokenKey("eroding")).Err())
	l.soonOn("eroding", 0, 1, 2, 3, 4)
	for i := range l.servers {
		require.GreaterOrEqual(t, l.token(i, "eroding"), fence, "the holder has its token")
	}
	l.servers[1].Kill()
	l.servers[2].Kill()
	l.renewedAgain("eroding", 4)
	require.Equal(t, fence, alive(t, lock, ctx).Fence)
	require.NoError(t, unlock())
	redistest.Eventually(t, patience, func() bool { return len(l.on("eroding", 0, 3, 4)) == 0 }, "released")
	require.Empty(t, l.events.lost)
}

// Bug 17: a hold that no quorum has any more is lost, at once and for good. It is not restored, and its
// remains block nobody.
func TestWhatAQuorumForgotIsLost(t *testing.T) {
	t.Parallel()
	for name, forgetful := range map[string][]int{
		"all": {0, 1, 2, 3, 4}, "a quorum": {1, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 5)
			const lease = 6 * time.Second
			client := l.client(l.proxied(), options(lease))
			lock := redlock.New(client, "forgotten")
			ctx, unlock := take(t, lock)
			l.soonOn("forgotten", 0, 1, 2, 3, 4)
			for _, i := range forgetful {
				require.NoError(t, l.servers[i].Client(t).Del(within(t), "forgotten").Err())
			}
			until := alive(t, lock, ctx).ValidUntil
			var lost *rlock.LostError
			require.ErrorAs(t, ended(t, ctx), &lost)
			require.Equal(t, rlock.LossGone, lost.Reason)
			require.True(t, time.Now().Before(until), "the next renewal told, and not the end of the lease")
			l.soonOn("forgotten")
			require.True(t, time.Now().Before(until), "what was left was released, and did not expire")
			require.ErrorIs(t, unlock(), rlock.ErrLost)
			once(t, lock)
		})
	}
}

// Bug 47: validity counts from the first request. Nodes have a fraction of the lease; a quorum that answers
// later than that does not count, although every node granted, and the grants are given back.
func TestAQuorumThatComesTooLateIsNone(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	client := l.client(l.proxied(), options(20*time.Second))
	brief := redlock.New(client, "brief", rlock.FixedLease(100*time.Millisecond))
	once(t, redlock.New(client, "warm"))
	for _, p := range l.proxies {
		p.On(acquires, faultproxy.Delay(120*time.Millisecond)).Times(-1)
	}
	_, _, err := brief.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	l.soonOn("brief")
}

// A fixed lease is not renewed, and is over everywhere when it is over.
func TestAFixedLeaseEndsOnAllNodes(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	client := l.client(l.direct(), options(3*time.Second))
	lock := redlock.New(client, "fixed", rlock.FixedLease(400*time.Millisecond))
	ctx, unlock := take(t, lock)
	var lost *rlock.LostError
	require.ErrorAs(t, ended(t, ctx), &lost)
	require.Equal(t, rlock.LossExpired, lost.Reason)
	l.soonOn("fixed")
	require.ErrorIs(t, unlock(), rlock.ErrLost)
}

// A level is this process's business: the nodes have a count of one, and an own lease inside changes nothing.
func TestLevelsAreNotTheNodes(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	client := l.client(l.proxied(), options(3*time.Second))
	lock := redlock.New(client, "levels")
	outer, unlock := take(t, lock)
	valid := alive(t, lock, outer)
	inner, leave, err := redlock.New(client, "levels", rlock.FixedLease(time.Second)).Lock(outer)
	require.NoError(t, err)
	require.Equal(t, 2, alive(t, lock, inner).Count)
	l.renewedAgain("levels", 1)
	for i := range l.servers {
		require.Equal(t, "1", l.fields(i, "levels")[valid.ID])
	}
	require.NoError(t, leave())
	l.renewedAgain("levels", 1)
	require.NoError(t, unlock())
	l.soonOn("levels")
}

// Operators see what a quorum says, and can break it; a failed attempt at a minority does not count as a
// hold.
func TestInspectAndBreak(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	client, operator := l.client(l.direct(), options(3*time.Second)), l.client(l.direct(), options(3*time.Second))
	lock, seen := redlock.New(client, "seen"), redlock.New(operator, "seen")
	for i := range 2 {
		rdb := l.servers[i].Client(t)
		require.NoError(t, rdb.HSet(within(t), "seen", "somebody:1", 1).Err())
		require.NoError(t, rdb.PExpire(within(t), "seen", time.Minute).Err())
	}
	info, err := seen.Inspect(within(t))
	require.NoError(t, err)
	require.Empty(t, info.Holders, "two of five are no quorum")

	ctx, unlock := take(t, lock)
	hold := alive(t, lock, ctx)
	l.servers[4].Stop()
	l.servers[4].Continue()
	info, err = seen.Inspect(within(t))
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	require.Equal(t, hold.ID, info.Holders[0].ID)
	require.Equal(t, 1, info.Holders[0].Count)
	require.False(t, info.Holders[0].Mine)
	require.Positive(t, info.Holders[0].TTL)
	require.LessOrEqual(t, info.Holders[0].TTL, 3*time.Second)
	require.GreaterOrEqual(t, info.Holders[0].Fence, hold.Fence)
	info, err = lock.Inspect(within(t))
	require.NoError(t, err)
	require.True(t, info.Holders[0].Mine)

	require.NoError(t, seen.Break(within(t)))
	var lost *rlock.LostError
	require.ErrorAs(t, ended(t, ctx), &lost)
	require.Equal(t, rlock.LossGone, lost.Reason)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	require.ErrorIs(t, seen.Break(within(t)), rlock.ErrNotHeld)

	ctx, unlock = take(t, lock)
	_, err = lock.Export(ctx)
	var refused *rlock.ArgumentError
	require.ErrorAs(t, err, &refused)
	alive(t, lock, ctx)
	require.NoError(t, unlock())
	_, _, err = lock.Import(within(t), "eyJrIjoic2VlbiIsImkiOiJhOjEiLCJmIjoxfQ")
	require.Error(t, err)
	require.False(t, errors.Is(err, rlock.ErrUnavailable))
}
