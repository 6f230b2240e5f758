package fairlock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// What goes wrong while the lock passes inside a process.

// client is the id of a hold's process.
func (h hold) client(t testing.TB) string {
	t.Helper()
	client, _, _ := strings.Cut(h.known(t).ID, ":")
	return client
}

// A registration is sent while others of its process have places, and is carried out when all of them were served and
// the queue is gone: its waiter stands there as one that lives. A waiter that comes next from another process does
// not overtake it, but invites it, and its first question takes the lock.
func TestARegistrationRacesTheReleaseThatEmptiesTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := faultproxy.Start(t, l.server.Addr())
	p, rival := l.peerAt(proxy.Addr(), rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	p.warm()
	rival.warm()
	registering, asking := faultproxy.NewGate(), faultproxy.NewGate()
	defer registering.Open()
	defer asking.Open()
	first := p.take()
	second := p.wait()
	register := proxy.On(faultproxy.Script(luacall.SHA("fair_enqueue")), faultproxy.HoldRequest(registering))
	third := p.start(context.Background())
	register.Wait(t, 1)
	first.frees(t)
	l.arrives(second).frees(t)
	require.Empty(t, l.left(), "the queue is gone")
	asks := proxy.On(faultproxy.Script(luacall.SHA("fair_acquire")), faultproxy.HoldRequest(asking)).Times(-1)
	registering.Open()
	asks.Wait(t, 1)
	rival.busy()
	asking.Open()
	h := l.arrives(third)
	require.Equal(t, 1, asks.Fired(), "its first question takes the lock")
	h.frees(t)
	l.clean()
}

// lapse has a process be taken for dead that waits with two callers, between a rival's two, while a rival holds. Before
// that the first of the two has asked so often, and silenced is called.
func (f *faultLab) lapse(questions int, silenced func()) (holder hold, mine []<-chan hold, last <-chan hold) {
	f.Helper()
	first := f.rival.take()
	asks := faultproxy.Script(luacall.SHA("fair_acquire"))
	questions += f.proxy.Requests(asks)
	mine = []<-chan hold{f.victim.wait(), f.victim.wait()}
	redistest.Eventually(f, patience, func() bool { return f.proxy.Requests(asks) >= questions }, "it does not ask")
	silenced()
	second := f.rival.wait()
	last = f.rival.wait()
	ctx := context.Background()
	own := first.client(f)
	for _, client := range f.rdb.ZRange(ctx, f.key("alive"), 0, -1).Val() {
		if client != own {
			require.NoError(f, f.rdb.ZAdd(ctx, f.key("alive"), redis.Z{Score: 1, Member: client}).Err())
		}
	}
	first.frees(f)
	holder = f.arrives(second)
	f.queued(1) // the process is taken for dead
	return holder, mine, last
}

// A process is taken for dead, and the request that tells it so is answered or not: its other waiters are registered
// again all the same, and have the turns that they had.
func TestALapseIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action faultproxy.Action
		poll   time.Duration
	}{
		"by a registration":                           {faultproxy.Pass, never},
		"by a registration whose answer is lost":      {faultproxy.DropReply, never},
		"by a question":                               {faultproxy.Pass, 0},
		"by a question whose answer is lost":          {faultproxy.DropReply, 0},
		"by a question that is cut off after its end": {faultproxy.CutAfter, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaultLab(t)
			script, questions := "fair_acquire", 1
			if c.poll == never {
				f.victim = f.peerAt(f.proxy.Addr(), rlock.ClientOptions{Lease: faultLease, MaxPoll: never})
				script, questions = "fair_enqueue", 3 // for the server's time, for its place, when its subscription stands
			}
			// The request that reports the lapse is held back until that is complete: it would bring the process to life before.
			lapsed, told := make(chan struct{}), new(atomic.Bool)
			var rule *faultproxy.Rule
			holder, mine, last := f.lapse(questions, func() {
				rule = f.proxy.On(faultproxy.Script(luacall.SHA(script)), func(x *faultproxy.Exchange) {
					if <-lapsed; told.CompareAndSwap(false, true) {
						c.action(x)
					} else {
						faultproxy.Pass(x)
					}
				}).Times(-1)
			})
			close(lapsed)
			if c.poll == never {
				mine = append(mine, f.victim.start(context.Background()))
			}
			rule.Wait(t, 1)
			// The waiter that asks has its place again with its next question. That comes soon if its subscription is made
			// anew, because a lost answer has cast doubt on the connections.
			redistest.Eventually(f, patience, func() bool { return f.waiters() >= 3 }, "the others are not registered again")
			f.inOrder(holder, append(mine[:2:2], append([]<-chan hold{last}, mine[2:]...)...)...)
			f.clean()
		})
	}
}

// The release that ends a run does not reach Redis: what its process does about that in the background takes away the
// places of all who were served, and the next process gets in.
func TestTheReleaseThatEndsARunFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := faultproxy.Start(t, l.server.Addr())
	a, rival := l.peerAt(proxy.Addr(), rlock.ClientOptions{ReleaseTimeout: time.Second}), l.peer(rlock.ClientOptions{})
	h, _ := l.passed(a, rival, 0)
	next := rival.wait()
	proxy.Refuse(true)
	proxy.CutAll()
	require.ErrorIs(t, h.unlock(), rlock.ErrUnconfirmed)
	require.Empty(t, next)
	proxy.Refuse(false)
	l.arrives(next).frees(t)
	l.clean()
}

// A waiter asks behind a hold of its own process, is refused and then served in memory. A copy of what it asked comes
// when it is done, and gives it a place; nobody waits for that place longer than such a copy can come.
func TestALateCopyOfAPollThatWasServed(t *testing.T) {
	t.Parallel()
	f := newFaultLab(t)
	for range 20 {
		before := f.rival.take()
		line := []<-chan hold{f.victim.wait(), f.victim.wait()}
		first := f.run(before, line...) // which has tokens for those behind it
		polled := line[1]
		gate := faultproxy.NewGate()
		rule := f.proxy.On(faultproxy.Script(luacall.SHA("fair_acquire")), faultproxy.DuplicateLater(gate))
		rule.Wait(t, 1)
		last := f.victim.wait() // its registration says who stands next
		id := first.known(t).ID
		first.frees(t)
		h := f.arrives(polled)
		served := h.known(t).ID == id
		f.inOrder(h, last)
		f.clean()
		if !served {
			f.passes()
		}
		behind := f.rival.take()
		gate.Open()
		f.delivered(gate)
		f.queued(0)
		behind.frees(t)
		f.settles()
		if served {
			return
		}
	}
	t.Fatal("nothing was passed")
}

// A waiter of somebody else stands between those of a process: it is invited when those before it are done, also if
// its client is of another kind and only what it wrote is seen.
func TestAnotherStandsBetween(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx := context.Background()
	a, rival := l.peer(rlock.ClientOptions{MaxPoll: 500 * time.Millisecond}), l.peer(rlock.ClientOptions{})
	first := rival.take()
	line := []<-chan hold{a.wait(), a.wait()}
	last := l.rdb.ZRangeWithScores(ctx, l.key("queue"), -1, -1).Val()[0].Score
	require.NoError(t, l.rdb.ZAdd(ctx, l.key("alive"), redis.Z{Score: 1e15, Member: "other"}).Err())
	require.NoError(t, l.rdb.ZAdd(ctx, l.key("queue"), redis.Z{Score: last + 1, Member: "other:1"}).Err())
	line = append(line, a.wait())
	h := l.run(first, line...)
	h.frees(t)
	h = l.arrives(line[1])
	fence := h.known(t).Fence
	require.Empty(t, line[2])
	h.frees(t)
	require.Equal(t, map[string]string{"other:1": "1000000000"}, l.rdb.HGetAll(ctx, l.name).Val(), "it is invited")
	require.Empty(t, line[2])
	require.NoError(t, l.rdb.ZRem(ctx, l.key("queue"), "other:1").Err())
	require.NoError(t, l.rdb.Del(ctx, l.name).Err())
	h = l.arrives(line[2])
	require.Greater(t, h.known(t).Fence, fence)
	h.frees(t)
	l.clean()
}

// Break ends the present turn, and the next waiter in the queue gets in.
func TestBreakInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opts := rlock.ClientOptions{Lease: 1500 * time.Millisecond, MaxPoll: 500 * time.Millisecond}
	a, rival := l.peer(opts), l.peer(opts)
	h, rest := l.passed(a, rival, 1)
	behind := rival.wait()
	fence := h.known(t).Fence
	require.NoError(t, rival.Break(context.Background()))
	require.ErrorIs(t, h.ends(t), rlock.ErrLost)
	require.ErrorIs(t, h.unlock(), rlock.ErrLost)
	next := l.arrives(rest[0])
	require.Greater(t, next.known(t).Fence, fence)
	l.inOrder(next, behind)
	l.clean()
}

// Those who had their turns do not count as waiters in the queue while a turn after theirs goes on.
func TestInspectInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	h, rest := l.passed(a, rival, 1)
	for _, p := range []*peer{a, rival} {
		redistest.Eventually(t, patience, func() bool {
			info, err := p.Inspect(context.Background())
			return err == nil && info.Waiters == 1 && len(info.Holders) == 1 && info.Holders[0].ID == h.known(t).ID
		}, "somebody who had a turn is taken for a waiter")
	}
	l.inOrder(h, rest[0])
	l.clean()
}

// The same for a later turn of the run: what looks after the turns goes on with it.
func TestInspectInALaterTurnOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	h, rest := l.passed(a, rival, 2)
	id := h.known(t).ID
	for range 20 {
		time.Sleep(25 * time.Millisecond) // a part of the time after which a turn is a long one
		h.frees(l)
		if h = l.arrives(rest[0]); h.known(t).ID == id {
			break
		}
		l.inOrder(h, rest[1])
		l.clean()
		h, rest = l.passed(a, rival, 2)
		id = h.known(t).ID
	}
	require.Equal(t, id, h.known(t).ID, "nothing was passed on twice")
	redistest.Eventually(t, patience, func() bool {
		info, err := a.Inspect(context.Background())
		return err == nil && info.Waiters == 1 && len(info.Holders) == 1 && info.Holders[0].ID == id
	}, "somebody who had a turn is taken for a waiter")
	l.inOrder(h, rest[1])
	l.clean()
}
