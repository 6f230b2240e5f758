package redlock_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Two of five nodes are 200 ms away, which is longer than a node has here: the other three are the quorum,
// and they alone set the pace.
func TestSlowNodesDoNotSetThePace(t *testing.T) {
	t.Parallel()
	const away, rounds = 200 * time.Millisecond, 40
	l := newLab(t, 5)
	o := options(3 * time.Second)
	o.NodeTimeout = away / 2
	client := l.client(l.proxied(), o)
	lock := redlock.New(client, "pace")
	once(t, lock)
	l.proxies[0].Latency(away / 2) // either way
	l.proxies[4].Latency(away / 2)
	start := time.Now()
	for range rounds {
		once(t, lock)
	}
	require.Less(t, time.Since(start), rounds*away/2, "not one round in two waited for a slow node")
	ctx, unlock := take(t, lock)
	l.renewedAgain("pace", 3)
	alive(t, lock, ctx)
	require.NoError(t, unlock())
	l.soonOn("pace")
}

// straggle has node 2 grant after the quorum was found, so late that it does not take the proposed token.
func (l *lab) straggle(lock *rlock.Lock) (hold rlock.Hold, ctx context.Context, unlock func() error) {
	l.t.Helper()
	once(l.t, lock)
	l.soonOn(lock.Name())
	gate := faultproxy.NewGate()
	l.proxies[2].On(acquires, faultproxy.HoldRequest(gate))
	ctx, unlock = take(l.t, lock)
	l.soonOn(lock.Name(), 0, 1)
	<-time.After(50 * time.Millisecond) // more than the token is ahead of the clocks
	gate.Open()
	l.soonOn(lock.Name(), 0, 1, 2)
	return alive(l.t, lock, ctx), ctx, unlock
}

// Nodes that are slow but not silent take part: their grants come after the quorum, and count from when they
// have stored the token, which they are told at once, and not by a renewal that is far away here.
func TestASlowGrantIsToldTheToken(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(10 * patience)
	lock := redlock.New(l.client(l.proxied(), o), "told")
	hold, _, unlock := l.straggle(lock)
	redistest.Eventually(t, patience, func() bool { return l.token(2, "told") >= hold.Fence },
		"the straggler should store the token")
	require.NoError(t, unlock())
}

func TestASlowGrantIsAMemberLater(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	lock := redlock.New(l.client(l.proxied(), options(6*time.Second)), "straggler")
	hold, ctx, unlock := l.straggle(lock)
	l.servers[0].Kill() // now the quorum rests on it
	l.renewedAgain("straggler", 1)
	require.Equal(t, hold.Fence, alive(t, lock, ctx).Fence)
	require.NoError(t, unlock())
	redistest.Eventually(t, patience, func() bool { return len(l.on("straggler", 1, 2)) == 0 }, "released")
}

// A release whose answers come later than NodeTimeout is no loss: the repeated release learns the outcome.
func TestALateAnswerToAReleaseIsNoLoss(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(6 * time.Second)
	client := l.client(l.proxied(), o)
	lock := redlock.New(client, "answers")
	for k := range 12 { // also in the moment between two requests of the release
		_, unlock := take(t, lock)
		l.soonOn("answers", 0, 1, 2)
		for _, p := range l.proxies {
			p.On(releases, delayReply(o.NodeTimeout+time.Duration(k)*time.Millisecond))
		}
		require.NoError(t, unlock())
		l.soonOn("answers")
	}
}

// delayReply forwards a request at once, and its reply after d.
func delayReply(d time.Duration) faultproxy.Action {
	return func(x *faultproxy.Exchange) {
		gate := faultproxy.NewGate()
		time.AfterFunc(d, gate.Open)
		faultproxy.HoldReply(gate)(x)
	}
}

// Bug 49: a grant that arrives when the attempt has failed is taken back as soon as it is known, and so is
// what the others granted. Node 2 has its request later than everything else.
func TestALateGrantAfterAFailureIsTakenBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	const lease = 10 * patience // nothing here is free because a lease ended
	o := options(lease)
	o.RestartGuard = lease
	client := l.client(l.proxied(), o)
	other := l.client(l.direct(), options(lease))
	lock := redlock.New(client, "late")
	once(t, lock)
	l.soonOn("late")
	gate := faultproxy.NewGate()
	defer gate.Open()
	l.proxies[2].On(acquires, faultproxy.HoldRequest(gate))
	for _, i := range []int{0, 1, 3} {
		l.proxies[i].Blackhole(true)
	}
	_, _, err := lock.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	l.soonOn("late")
	gate.Open()
	redistest.Eventually(t, patience, func() bool {
		return l.proxies[2].Requests(releases) > 0 && len(l.on("late", 0, 1, 2, 3, 4)) == 0
	}, "the late grant should be released, and the one in time as well")
	once(t, redlock.New(other, "late"))
}

// A Lock call makes several attempts. The release of one that failed may be carried out at any time later, and
// must not touch what the next one holds: each has an id of its own.
func TestALateReleaseOfAFailedAttemptTouchesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	client := l.client(l.proxied(), options(6*time.Second))
	lock := redlock.New(client, "again")
	once(t, lock)
	l.soonOn("again")
	gate := faultproxy.NewGate()
	late := l.proxies[0].On(releases, faultproxy.DuplicateLater(gate))
	cut := l.proxies[1].On(acquires, faultproxy.CutBefore).Times(-1)
	type result struct {
		ctx    context.Context
		unlock func() error
		err    error
	}
	got := make(chan result, 1)
	go func() {
		ctx, unlock, err := lock.Lock(within(t))
		got <- result{ctx, unlock, err}
	}()
	late.Wait(t, 1) // an attempt has failed, and what node 0 granted was released
	cut.Times(0)
	r := <-got
	require.NoError(t, r.err)
	l.soonOn("again", 0, 1)
	before := l.fields(0, "again")
	gate.Open()
	<-gate.Delivered()
	redistest.Eventually(t, patience, func() bool { return l.proxies[0].Requests(releases) > 0 }, "delivered")
	require.Equal(t, before, l.fields(0, "again"))
	hold := alive(t, lock, r.ctx)
	for id := range before {
		require.True(t, id == hold.ID || strings.HasPrefix(id, hold.ID+"."), "%s is an attempt of %s", id, hold.ID)
	}
	require.NoError(t, r.unlock())
	l.soonOn("again")
}

// A client that is cut off from two of five nodes, and one that is not, exclude one another.
func TestAPartitionOfOneClient(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	o := options(2 * time.Second)
	cut, whole := l.client(l.proxied(), o), l.client(l.direct(), o)
	l.proxies[0].Blackhole(true)
	l.proxies[1].Refuse(true)
	l.proxies[1].CutAll()
	var inside, turns atomic.Int32
	var newest atomic.Int64
	var all sync.WaitGroup
	for _, client := range []*redlock.Client{cut, whole, cut, whole} {
		lock := redlock.New(client, "contended")
		all.Go(func() {
			for range 10 {
				err := lock.Do(within(t), func(ctx context.Context) error {
					if inside.Add(1) != 1 {
						t.Error("two at a time")
					}
					hold, err := lock.Held(ctx)
					if newest.Swap(hold.Fence) >= hold.Fence {
						t.Error("a token that is not greater than the last")
					}
					turns.Add(1)
					inside.Add(-1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int32(40), turns.Load())
	l.soonOn("contended")
}

// A minority of nodes does not matter, whatever it does: replies that are lost, requests that are lost,
// duplicated or late, at one node of three.
func TestFaultsAtOneNode(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]faultproxy.Action{
		"lost replies":   faultproxy.DropReply,
		"lost requests":  faultproxy.DropRequest,
		"cut before":     faultproxy.CutBefore,
		"cut after":      faultproxy.CutAfter,
		"duplicates":     faultproxy.Duplicate,
		"half a reply":   faultproxy.CutReplyAt(3),
		"half a request": faultproxy.CutRequestAt(20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 3)
			client := l.client(l.proxied(), options(3*time.Second))
			lock := redlock.New(client, "faulty")
			rule := l.proxies[1].On(faultproxy.AnyScript, action).Times(-1)
			var last int64
			for range 10 {
				ctx, unlock := take(t, lock)
				nested, inner, err := lock.Lock(ctx)
				require.NoError(t, err)
				hold := alive(t, lock, nested)
				require.Equal(t, 2, hold.Count)
				require.Greater(t, hold.Fence, last)
				last = hold.Fence
				require.NoError(t, inner())
				require.NoError(t, unlock())
			}
			require.Positive(t, rule.Fired())
			rule.Times(0)
			l.soonOn("faulty")
			require.Empty(t, l.events.lost)
		})
	}
}
