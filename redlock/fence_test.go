package redlock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// One round of requests is enough: the token that the client proposes is stored by the nodes that grant.
func TestAnAcquisitionIsOneRound(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	o := options(30 * time.Second)
	o.NodeTimeout = 3 * time.Second // a node that a busy machine keeps waiting is not asked again
	client := l.client(l.proxied(), o)
	lock := redlock.New(client, "one")
	once(t, lock)
	l.soonOn("one")
	count := func(match faultproxy.Match) (n int) {
		for _, p := range l.proxies {
			n += p.Requests(match)
		}
		return n
	}
	before, renewed := count(acquires), count(renews)
	const rounds = 100
	for range rounds {
		once(t, lock)
		l.soonOn("one")
	}
	sent := count(acquires) - before
	require.LessOrEqual(t, sent, 5*rounds, "one request to each node at most")
	require.GreaterOrEqual(t, sent, 3*rounds)
	require.LessOrEqual(t, count(renews)-renewed, 5*rounds/10, "hardly ever another one to store the token")
}

// Tokens grow over clients, unlocks, losses, breaks and re-entries; a nested level has its hold's.
func TestTokensGrow(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	clients := []*redlock.Client{
		l.client(l.proxied(), options(1500*time.Millisecond)), l.client(l.direct(), options(3*time.Second)),
	}
	var last int64
	for i := range 60 {
		lock := redlock.New(clients[i%2], "growing")
		ctx, unlock := take(t, lock)
		hold := alive(t, lock, ctx)
		require.Greater(t, hold.Fence, last)
		last = hold.Fence
		switch i % 5 {
		case 0:
			nested, leave, err := lock.Lock(ctx)
			require.NoError(t, err)
			require.Equal(t, last, alive(t, lock, nested).Fence)
			require.NoError(t, leave())
			require.NoError(t, unlock())
		case 1:
			require.NoError(t, redlock.New(clients[(i+1)%2], "growing").Break(within(t)))
			_ = unlock() // it may have heard by now, or not
		default:
			require.NoError(t, unlock())
		}
	}
}

// Tokens grow though nodes are killed and restarted empty, frozen and cut off, at random, as long as each
// that forgot keeps out of votes for the guard time.
func TestTokensGrowThroughFailures(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	const lease = time.Second
	o := options(lease)
	o.NoRestartGuard = false
	clients := []*redlock.Client{l.client(l.proxied(), o), l.client(l.proxied(), o)}
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := redlock.New(clients[0], "failing").TryLock(within(t))
		return err == nil && unlock() == nil
	}, "the nodes should come to vote")
	var last int64
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		i := rng.IntN(3)
		switch round % 3 {
		case 0:
			l.servers[i].Kill()
			l.servers[i].Restart()
		case 1:
			l.servers[i].Stop()
		case 2:
			l.proxies[i].Blackhole(true)
		}
		for k := range 10 {
			lock := redlock.New(clients[k%2], "failing")
			var fence int64
			redistest.Eventually(t, patience, func() bool {
				ctx, unlock, err := lock.Lock(within(t))
				if err != nil {
					return false
				}
				hold, err := lock.Held(ctx)
				fence = hold.Fence
				_ = unlock()
				return err == nil
			}, "two nodes should be enough")
			require.Greater(t, fence, last)
			last = fence
		}
		switch round % 3 {
		case 1:
			l.servers[i].Continue()
		case 2:
			l.proxies[i].Blackhole(false)
		}
	}
}

// newClockLab starts servers whose clocks can be set.
func newClockLab(t *testing.T, size int) (*lab, []*redistest.Clock) {
	t.Helper()
	l, clocks := &lab{t: t}, make([]*redistest.Clock, size)
	for i := range clocks {
		var server *redistest.Server
		server, clocks[i] = redistest.StartWithClock(t)
		l.servers = append(l.servers, server)
	}
	return l, clocks
}

// Interleaving 10, on real nodes: with a node whose clock is ahead, tokens still grow, and the next
// holder finds a higher one at every quorum.
func TestTokensGrowWithAFastClock(t *testing.T) {
	lab, clocks := newClockLab(t, 3)
	clients := []*redlock.Client{
		lab.client(lab.direct(), options(30*time.Second)), lab.client(lab.direct(), options(30*time.Second)),
	}
	var last int64
	next := func(why string) {
		t.Helper()
		for k := range 6 {
			fence := once(t, redlock.New(clients[k%2], "fast"))
			require.Greater(t, fence, last, why)
			last = fence
		}
	}
	next("clocks that agree")
	for _, step := range []time.Duration{
		4 * time.Millisecond, time.Second, 14 * time.Second, 25 * time.Second, -time.Second, -20 * time.Second, 0,
	} {
		clocks[1].Ahead(step)
		next("node 1 is ahead by " + step.String())
		clocks[2].Ahead(-step / 2)
		next("and node 2 behind")
		lab.servers[0].Stop() // the other two are the quorum
		next("and they are the quorum")
		lab.servers[0].Continue()
	}
}

// A clock that is set ahead by more than the lease ends what its node has; the others are a quorum. What
// nobody renews and two nodes forget in that way is another's, with a greater token.
func TestOneClockThatIsSetAheadCostsNothing(t *testing.T) {
	lab, clocks := newClockLab(t, 3)
	o := options(3 * time.Second)
	client, other := lab.client(lab.direct(), o), lab.client(lab.direct(), o)
	lock, rival := redlock.New(client, "jumped"), redlock.New(other, "jumped")
	once(t, rival)
	ctx, unlock := take(t, lock)
	fence := alive(t, lock, ctx).Fence
	lab.soonOn("jumped", 0, 1, 2)
	clocks[1].Ahead(time.Hour)
	redistest.Eventually(t, patience, func() bool { return len(lab.fields(1, "jumped")) == 0 }, "it expired there")
	_, _, err := rival.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)
	lab.renewedAgain("jumped", 2)
	alive(t, lock, ctx)
	lab.soonOn("jumped", 0, 1, 2)

	// Kleppmann's first scenario: now a quorum of clocks jumps, and another gets the lock at once. The
	// owner learns of it with its next renewal, and the tokens show who came later.
	clocks[0].Ahead(time.Hour)
	clocks[2].Ahead(time.Hour)
	theirs, leave := take(t, rival)
	require.Greater(t, alive(t, rival, theirs).Fence, fence)
	require.ErrorIs(t, ended(t, ctx), rlock.ErrLost)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	alive(t, rival, theirs)
	require.NoError(t, leave())
}

// A token is carried by all that is sent for a hold, so a node that lost it has it again with a renewal.
func TestRenewalsCarryTheToken(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	client := l.client(l.direct(), options(1500*time.Millisecond))
	lock := redlock.New(client, "carried")
	ctx, unlock := take(t, lock)
	fence := alive(t, lock, ctx).Fence
	l.soonOn("carried", 0, 1, 2)
	for _, s := range l.servers {
		require.NoError(t, s.Client(t).Del(context.Background(), tokenKey("carried")).Err())
	}
	redistest.Eventually(t, patience, func() bool {
		return l.token(0, "carried") == fence && l.token(1, "carried") == fence && l.token(2, "carried") == fence
	}, "a renewal should bring the token back")
	require.NoError(t, unlock())
	require.Greater(t, once(t, lock), fence)
}
