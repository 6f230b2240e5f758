package fairlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

// grantLab overhears the messages by which waiters are granted the lock, and can send them again.
type grantLab struct {
	*lab
	proxy         *faultproxy.Proxy
	victim, rival *peer
	heard         <-chan *redis.Message
}

func newGrantLab(t *testing.T, poll time.Duration) *grantLab {
	l := &grantLab{lab: newLab(t)}
	l.proxy = faultproxy.Start(t, l.server.Addr())
	l.victim = l.peerAt(l.proxy.Addr(), rlock.ClientOptions{MaxPoll: poll})
	l.rival = l.peer(rlock.ClientOptions{MaxPoll: time.Second})
	sub := l.rdb.PSubscribe(t.Context(), "holdfast_fair:{"+l.name+"}:*")
	t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	l.heard = sub.Channel()
	return l
}

// waits has a goroutine of the victim wait, which has asked for the last time before it polls: when it learned the
// server's time, for its place, and when its subscription stood.
func (l *grantLab) waits() <-chan hold {
	l.Helper()
	c := l.victim.wait()
	asks := faultproxy.Script(lua.SHA("fair_acquire"))
	redistest.Eventually(l, patience, func() bool { return l.proxy.Requests(asks) >= 3 }, "it does not ask")
	return c
}

// overhears returns the next message that grants the lock.
func (l *grantLab) overhears() *redis.Message {
	l.Helper()
	for {
		select {
		case m := <-l.heard:
			if _, ok := store.ParseGrant(m.Payload); ok {
				return m
			}
		case <-time.After(patience):
			l.Fatal("no message grants the lock")
		}
	}
}

func (l *grantLab) sendAgain(m *redis.Message) {
	l.Helper()
	require.NoError(l, l.rdb.Publish(context.Background(), m.Channel, m.Payload).Err())
}

// A waiter that is told by the release that it has the lock does not ask for it.
func TestAGrantIsNotAskedFor(t *testing.T) {
	t.Parallel()
	l := newGrantLab(t, time.Second)
	first := l.rival.take()
	mine := l.waits()
	asked := l.proxy.Requests(faultproxy.Script(lua.SHA("fair_acquire")))
	first.frees(t)
	h := l.arrives(mine)
	g, _ := store.ParseGrant(l.overhears().Payload)
	require.Equal(t, g.ID, h.known(t).ID)
	require.LessOrEqual(t, h.known(t).Fence, g.Fence)
	require.GreaterOrEqual(t, h.known(t).Fence, g.Fence-g.Spare)
	confirmed := faultproxy.Script(lua.SHA("fair_confirm"))
	redistest.Eventually(t, patience, func() bool { return l.proxy.Requests(confirmed) > 0 }, "it is not confirmed")
	redistest.Eventually(t, patience, func() bool { return len(l.places()) == 0 }, "its place stays")
	require.LessOrEqual(t, l.proxy.Requests(faultproxy.Script(lua.SHA("fair_acquire"))), asked+1, "it may have polled")
	require.Equal(t, "1", l.rdb.HGet(t.Context(), l.name, h.known(t).ID).Val(), "no mark of a grant stays")
	h.frees(t)
	l.clean()
}

// A message that comes when its grant is over is not relied on, for whoever has the lock by then keeps it.
func TestAMessageIsLaterThanItsGrant(t *testing.T) {
	t.Parallel()
	l := newGrantLab(t, never)
	first := l.rival.take()
	mine := l.waits()
	l.proxy.SwallowMessages(true)
	first.frees(t)
	late := l.overhears()
	second := l.arrives(l.rival.start(t.Context())) // as soon as the grant is over
	l.proxy.SwallowMessages(false)
	for range 3 {
		l.sendAgain(late)
	}
	redistest.Eventually(t, patience, func() bool {
		return len(l.places()) == 1
	}, "it does not ask")
	select {
	case h := <-mine:
		require.Fail(t, "two have the lock", "%v", h.err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, second.ctx.Err())
	l.rival.busy()
	second.frees(t)
	l.arrives(mine).frees(t)
	l.clean()
}

// A second copy of a message changes nothing: neither for the hold that it was about, nor for whoever comes after it.
func TestAMessageComesTwice(t *testing.T) {
	t.Parallel()
	l := newGrantLab(t, time.Second)
	first := l.rival.take()
	mine, next, last := l.waits(), l.rival.wait(), l.victim.wait()
	first.frees(t)
	h, m := l.arrives(mine), l.overhears()
	l.sendAgain(m)
	l.rival.busy()
	require.NoError(t, h.ctx.Err())
	h.frees(t)
	second := l.arrives(next)
	for range 3 {
		l.sendAgain(m)
		l.victim.busy()
	}
	require.NoError(t, second.ctx.Err())
	require.Empty(t, last)
	second.frees(t)
	l.arrives(last).frees(t)
	l.clean()
}
