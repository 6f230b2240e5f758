package fairlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// inviteLab overhears the messages by which waiters are invited, and can send them again.
type inviteLab struct {
	*lab
	proxy         *faultproxy.Proxy
	victim, rival *peer
	channel       string // on which the victim is invited
	heard         <-chan *redis.Message
}

func newInviteLab(t *testing.T, poll time.Duration) *inviteLab {
	l := &inviteLab{lab: newLab(t)}
	l.proxy = faultproxy.Start(t, l.server.Addr())
	l.victim = l.peerAt(l.proxy.Addr(), rlock.ClientOptions{MaxPoll: poll})
	l.rival = l.peer(rlock.ClientOptions{MaxPoll: time.Second})
	h := l.victim.take()
	l.channel = "holdfast_fair:{" + l.name + "}:" + h.client(t)
	h.frees(t)
	sub := l.rdb.PSubscribe(t.Context(), "holdfast_fair:{"+l.name+"}:*")
	t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	l.heard = sub.Channel()
	return l
}

// questions is how often the victim has asked for the lock.
func (l *inviteLab) questions() int {
	return l.proxy.Requests(faultproxy.Script(luacall.SHA("fair_acquire")))
}

// asked waits until the victim has asked for the lock so often.
func (l *inviteLab) asked(n int) {
	l.Helper()
	redistest.Eventually(l, patience, func() bool { return l.questions() >= n }, "it does not ask")
}

// waits has a goroutine of the victim wait, which has asked for the last time before it polls: for its place, when its
// subscription stood, and perhaps once more, as it heard of that. A question that is still on its way would take up the
// invitation of which the message is held back.
func (l *inviteLab) waits() <-chan hold {
	l.Helper()
	asked := l.questions()
	c := l.victim.wait()
	l.asked(asked + 2)
	last, since := l.questions(), time.Now()
	redistest.Eventually(l, patience, func() bool {
		if now := l.questions(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > silence
	}, "it goes on asking")
	return c
}

// silence is much longer than a question takes.
const silence = 500 * time.Millisecond

// overhears returns the next message that invites the victim.
func (l *inviteLab) overhears() *redis.Message {
	l.Helper()
	for {
		m := redistest.Receive(l, patience, l.heard, "no message invites it")
		if m.Channel == l.channel {
			return m
		}
	}
}

func (l *inviteLab) publish(message string) {
	l.Helper()
	require.NoError(l, l.rdb.Publish(context.Background(), l.channel, message).Err())
}

// A forged message makes a waiter ask, and nothing more: the holder stays alone.
// The second text is that by which a release once granted the lock (defect F8).
func TestAForgedMessageGrantsNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(l *inviteLab) string{
		"an invitation": func(*inviteLab) string { return "0" },
		"a grant": func(l *inviteLab) string {
			now, run := l.rdb.Time(context.Background()).Val().UnixMicro(), l.rdb.InfoMap(context.Background(), "server")
			return fmt.Sprintf("1 %s %d 0 0 %d %d %s", l.places()[0], int64(1)<<40, now, now+time.Minute.Microseconds(),
				run.Item("Server", "run_id"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newInviteLab(t, never)
			first := l.rival.take()
			mine := l.waits()
			for range 3 {
				asked := l.questions()
				l.publish(text(l))
				redistest.Eventually(t, patience, func() bool { return l.questions() > asked || len(mine) > 0 }, "it is deaf")
				require.Empty(t, mine, "two have the lock")
			}
			l.queued(1)
			require.NoError(t, first.ctx.Err())
			l.inOrder(first, mine)
			l.clean()
		})
	}
}

// A message that comes when its invitation is over, once and again, has its waiter ask, and the one that has the lock
// by then keeps it.
func TestAMessageIsLaterThanItsInvitation(t *testing.T) {
	t.Parallel()
	l := newInviteLab(t, never)
	first := l.rival.take()
	mine := l.waits()
	l.proxy.SwallowMessages(true)
	first.frees(t)
	late := l.overhears()
	second := l.arrives(l.rival.start(t.Context())) // as soon as the invitation is over
	l.proxy.SwallowMessages(false)
	for range 3 {
		l.publish(late.Payload)
	}
	l.queued(1) // it asked, and has its place again
	require.Empty(t, mine)
	l.rival.busy()
	l.inOrder(second, mine)
	l.clean()
}

// A second copy of a message changes nothing: neither for the hold that it was about, nor for the next one.
func TestAMessageComesTwice(t *testing.T) {
	t.Parallel()
	l := newInviteLab(t, time.Second)
	first := l.rival.take()
	mine, next, last := l.waits(), l.rival.wait(), l.victim.wait()
	first.frees(t)
	h, m := l.arrives(mine), l.overhears()
	l.publish(m.Payload)
	l.rival.busy()
	require.NoError(t, h.ctx.Err())
	h.frees(t)
	second := l.arrives(next)
	for range 3 {
		l.publish(m.Payload)
		l.victim.busy()
	}
	require.NoError(t, second.ctx.Err())
	require.Empty(t, last)
	second.frees(t)
	l.arrives(last).frees(t)
	l.clean()
}

// A release has the client ask that it invites, and nobody else. One request claims the lock, for whichever waiter of
// that client asks.
func TestOneRequestClaimsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := w.lock(w.client(0))
		second, third := w.lock(w.client(1)), w.lock(w.client(2))
		asked, others := w.count(1, memstore.Acquire), w.count(2, memstore.Acquire)
		first.frees()
		require.True(t, second.in())
		require.Equal(t, asked+1, w.count(1, memstore.Acquire))
		require.Equal(t, others, w.count(2, memstore.Acquire))
		second.frees()
		require.True(t, third.in())
		third.frees()
	})
}

// A waiter that has left is invited, since a copy of its request came after the release by which it left. That release
// is repeated until no copy can come, and so invites the next, before the invitation runs out.
func TestOneThatHasLeftIsInvited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		first := w.lock(w.client(0))
		w.from(1, map[memstore.Kind]memstore.Fate{memstore.Acquire: {Again: 300 * time.Millisecond}})
		gone := w.lockWith(ctx, w.client(1))
		w.from(1, nil)
		cancel()
		w.pass(300 * time.Millisecond)
		third := w.lock(w.client(2)) // behind that place
		require.True(t, gone.done.Load())
		require.Error(t, gone.err)
		first.frees()
		w.pass(600 * time.Millisecond)
		require.True(t, third.in())
		third.frees()
	})
}

// A waiter leaves after it was invited, before it hears of that. The next waiter of its process then asks. If that
// request reaches the store before the release of the one that leaves, the next waiter has the turn, though a waiter of
// another process came between them. If the release is first, the waiter of the other process has it.
func TestOneThatLeavesAsItIsInvited(t *testing.T) {
	for name, release := range map[string]time.Duration{"released late": 5 * time.Millisecond, "released at once": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ctx, cancel := context.WithCancel(t.Context())
				first, client := w.lock(w.client(0)), w.client(1)
				leaves := w.lockWith(ctx, client)
				between := w.lock(w.client(2))
				last := w.lock(client)
				ask := 5*time.Millisecond - release
				w.from(1, map[memstore.Kind]memstore.Fate{
					memstore.Message: {Before: 300 * time.Millisecond},
					memstore.Release: {Before: release}, memstore.Acquire: {Before: ask},
				})
				first.frees()
				require.False(t, leaves.done.Load())
				cancel()
				w.pass(10 * time.Millisecond)
				require.Error(t, leaves.err)
				w.from(1, nil)
				next, second := between, last
				if release > 0 {
					next, second = last, between
				}
				require.True(t, next.in())
				require.False(t, second.done.Load())
				w.pass(400 * time.Millisecond) // the message comes, too late
				require.True(t, next.in())
				next.frees()
				require.True(t, second.in())
				second.frees()
			})
		})
	}
}

// A waiter of a short lease leaves while Redis is away, for longer than that lease. Its place is taken away all the
// same: another waiter of its process keeps the client alive, and the place with it.
func TestOneOfAShortLeaseLeavesDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		rival, client := w.client(0), w.client(1)
		first, mine := w.lock(rival), w.lock(client)
		ctx, cancel := context.WithCancel(t.Context())
		gone := w.lockWith(ctx, client, rlock.FixedLease(200*time.Millisecond))
		w.from(1, map[memstore.Kind]memstore.Fate{memstore.Release: {Lost: true}})
		cancel()
		w.pass(10 * time.Second)
		require.ErrorIs(t, gone.err, context.Canceled)
		w.from(1, nil)
		w.pass(time.Second)
		info, err := fairlock.New(rival, "a").Inspect(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, info.Waiters)
		first.frees()
		require.True(t, mine.in())
		mine.frees()
	})
}
