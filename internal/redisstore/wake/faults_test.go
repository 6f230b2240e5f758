package wake_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// faults.md 25: a message may have been published while nobody listened, so every ticket is woken once when its
// subscription is confirmed again.
func TestAKilledConnectionIsRebuiltAndEveryTicketWokenOnce(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), lingering(time.Minute))
	const channels = 50
	var tickets []*wake.Ticket
	for i := range channels {
		tickets = append(tickets, listening(t, hub, fmt.Sprint("c", i)))
	}
	barrier := listening(t, hub, "barrier")
	for range 3 {
		killSubscribers(t, server)
		for _, ticket := range append(tickets, barrier) {
			woken(t, ticket, "a subscription that was made anew")
			ready(t, ticket)
		}
		publish(t, server, "barrier")
		woken(t, barrier, "a message")
		for i, ticket := range tickets {
			require.Empty(t, ticket.C(), "ticket %d was woken twice", i)
		}
		require.Equal(t, 1, subscribers(t, server))
	}
	for _, ticket := range append(tickets, barrier) {
		publish(t, server, "barrier")
		ticket.Leave()
	}
}

// Bug 30: the connection breaks while Redis is down; it is rebuilt when Redis is back.
func TestARestartedServerIsFoundAgain(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket := listening(t, hub, "a")
	server.Kill()
	redistest.Eventually(t, limit, func() bool { return !hub.Subscribed("a") },
		"a broken subscription is said to stand")
	late := hub.Listen("b") // while nobody can be asked
	server.Restart()
	woken(t, ticket, "a subscription that was made anew")
	ready(t, late)
	woken(t, late, "the confirmation")
	publish(t, server, "b")
	woken(t, late, "a message")
	ticket.Leave()
	late.Leave()
	silent(t, server)
}

// Bug 25: a subscription that failed must not make those after it fail.
func TestAFailedSubscriptionIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]faultproxy.Action{
		"cut before": faultproxy.CutBefore, "cut after": faultproxy.CutAfter,
		"cut inside the reply": faultproxy.CutReplyAt(5), "cut inside": faultproxy.CutRequestAt(5),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			hub := newHub(t, options(proxy.Addr()))
			rule := proxy.On(faultproxy.Command("subscribe"), action).Times(2)
			// Not at once: with two requests on one connection, a cut in the first reply loses the second one too.
			first := hub.Listen("a")
			rule.Wait(t, 1)
			second := hub.Listen("b")
			ready(t, first)
			ready(t, second)
			rule.Wait(t, 2)
			// A subscription that got through before the other was cut is confirmed, and woken, twice.
			redistest.Eventually(t, limit, func() bool {
				return hub.Subscribed("a") && hub.Subscribed("b")
			}, "a subscription is missing")
			publish(t, server, "a")
			publish(t, server, "b")
			woken(t, first, "a message")
			woken(t, second, "a message")
			first.Leave()
			second.Leave()
			silent(t, server)
		})
	}
}

// A ping detects a connection on which nothing arrives any more but which nobody closes.
func TestASilentConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	var sent redistest.Meter
	opts := options(proxy.Addr())
	opts.Dialer = sent.Dial
	hub := newHub(t, opts)
	ticket := listening(t, hub, "a")
	before := sent.Dials()
	proxy.Blackhole(true)
	redistest.Eventually(t, 2*limit, func() bool { return sent.Dials() > before },
		"the connection is silent, and nothing is done about it")
	require.False(t, hub.Subscribed("a"))
	proxy.Blackhole(false)
	woken(t, ticket, "a subscription that was made anew")
	publish(t, server, "a")
	woken(t, ticket, "a message")
	ticket.Leave()
}

// A connection that is quiet because nobody releases anything is kept: its ping is answered.
func TestAQuietConnectionIsKept(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket := listening(t, hub, "a")
	redistest.Eventually(t, 2*limit, func() bool { return pinged(t, server) },
		"no ping on the subscription connection")
	require.Empty(t, ticket.C(), "it was built anew")
	require.EqualValues(t, 1, server.Calls(t, "subscribe"))
	publish(t, server, "a")
	woken(t, ticket, "a message")
	ticket.Leave()
}

// Interleaving 3: behind Sentinel no connection may last, and no ticket may be forgotten because of that.
func TestAConnectionEndsAtItsAge(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), func(c *wake.Config) {
		c.Life = 100 * time.Millisecond
		c.Linger = time.Minute
	})
	ticket := listening(t, hub, "a")
	for range 3 {
		woken(t, ticket, "a subscription that was made anew")
	}
	redistest.Eventually(t, limit, func() bool { return subscribers(t, server) <= 1 },
		"old connections are left open")
	ticket.Leave()
}

// A channel whose linger ends while the connection is being rebuilt must not be subscribed again after its
// unsubscription: nobody would ever unsubscribe it.
func TestAChannelThatExpiresDuringARebuildIsNotLeftSubscribed(t *testing.T) {
	server := redistest.Start(t)
	gate := make(chan struct{})
	var hold atomic.Bool
	var dials atomic.Int64
	dialling := make(chan struct{}, 1)
	opts := options(server.Addr())
	opts.DialTimeout = limit
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if hold.Load() {
			// The first is go-redis's own: it tries to repair the connection that broke.
			if dials.Add(1) == 1 {
				return nil, net.ErrClosed
			}
			select {
			case dialling <- struct{}{}:
			default:
			}
			select {
			case <-gate:
			case <-ctx.Done():
			}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	hub := newHub(t, opts, lingering(300*time.Millisecond),
		func(c *wake.Config) { c.Limit = limit })
	stays := listening(t, hub, "stays")
	var idle []*wake.Ticket
	for i := range 30 {
		idle = append(idle, listening(t, hub, fmt.Sprint("idle", i)))
	}
	hold.Store(true)
	for _, ticket := range idle {
		ticket.Leave()
	}
	killSubscribers(t, server)
	<-dialling
	// The hub forgets an idle channel when its linger ends, which is now, in the middle of the dial.
	joiner := hub.Listen("joins")
	time.AfterFunc(600*time.Millisecond, func() { close(gate) })
	ready(t, joiner)
	woken(t, stays, "a subscription that was made anew")
	redistest.Eventually(t, limit, func() bool { return len(server.PubSubChannels(t)) == 2 },
		"expired channels are still subscribed")
	stays.Leave()
	joiner.Leave()
	silent(t, server)
}
