package wake_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestAMessageWakesEveryTicketOfItsChannelAndNoOther(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	first, second := listening(t, hub, "a"), hub.Listen("a")
	other := listening(t, hub, "b")
	ready(t, second)
	publish(t, server, "a")
	woken(t, first, "a message")
	woken(t, second, "a message")
	// One connection keeps the order: when this message is here, those for others have passed.
	publish(t, server, "b")
	woken(t, other, "a message")
	require.Empty(t, other.C())
	for _, ticket := range []*wake.Ticket{first, second, other} {
		ticket.Leave()
	}
}

// G6 depends on it: everything published after Ready is heard, from the very first message on (defect F29).
//
// A channel that lingers is confirmed before it is joined, and then no confirmation wakes the ticket. One that does
// has woken it by the time its count is read. So a later wake-up is of the message, or of a confirmation that came
// after it and makes up for it; the count tells which.
func TestNothingIsMissedOnceReady(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), lingering(time.Millisecond))
	for i := range 100 {
		channel := fmt.Sprint("c", i%5)
		ticket := hub.Listen(channel)
		ready(t, ticket)
		base := ticket.Heard()
		select {
		case <-ticket.C():
		default:
		}
		publish(t, server, channel)
		woken(t, ticket, "published after the subscription stood")
		heard := ticket.Heard()
		if heard.Subscription == base.Subscription {
			require.Equal(t, later(base, 1), heard)
		}
		ticket.Leave()
	}
}

func TestWakeUpsThatNobodyTookCountAsOne(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket, barrier := listening(t, hub, "a"), listening(t, hub, "b")
	for range 50 {
		publish(t, server, "a")
	}
	publish(t, server, "b")
	woken(t, barrier, "a message")
	require.Len(t, ticket.C(), 1)
	ticket.Leave()
	barrier.Leave()
}

// A ticket that left must not be woken, nor delay others.
func TestALeftTicketIsNotWoken(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	gone, stays := listening(t, hub, "a"), hub.Listen("a")
	gone.Leave()
	gone.Leave() // harmless
	publish(t, server, "a")
	woken(t, stays, "a message")
	require.Empty(t, gone.C())
	stays.Leave()
}

// Bug 25: nothing stays subscribed for ever.
func TestAChannelLingersAndIsThenUnsubscribed(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), lingering(300*time.Millisecond))
	require.False(t, hub.Subscribed("a"))
	ticket := listening(t, hub, "a")
	require.True(t, hub.Subscribed("a"))
	require.False(t, hub.Subscribed("b"))
	ticket.Leave()
	// A waiter that returns within the linger finds the subscription in place: nothing is sent for it.
	before := server.Calls(t, "subscribe")
	again := hub.Listen("a")
	ready(t, again)
	require.Equal(t, before, server.Calls(t, "subscribe"))
	require.Zero(t, server.Calls(t, "unsubscribe"))
	publish(t, server, "a")
	woken(t, again, "a message")
	again.Leave()
	silent(t, server)
	redistest.Eventually(t, limit, func() bool { return !hub.Subscribed("a") },
		"the hub takes an ended subscription for one that stands")
	require.EqualValues(t, 1, server.Calls(t, "unsubscribe"))
	ticket = listening(t, hub, "a") // and it can be joined again
	publish(t, server, "a")
	woken(t, ticket, "a message")
	ticket.Leave()
}

func TestManyChannelsShareOneConnection(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	const channels = 300
	var tickets []*wake.Ticket
	for i := range channels {
		tickets = append(tickets, hub.Listen(fmt.Sprint("c", i)), hub.Listen(fmt.Sprint("c", i)))
	}
	for _, ticket := range tickets {
		ready(t, ticket)
	}
	require.Equal(t, 1, subscribers(t, server))
	require.Len(t, server.PubSubChannels(t), channels)
	require.EqualValues(t, channels, server.Calls(t, "subscribe"), "once for both tickets")
	for _, ticket := range tickets {
		ticket.Leave()
	}
	silent(t, server)
}

// The unsubscription is under way when the name is wanted again.
func TestRejoiningWhileTheUnsubscriptionIsOnItsWay(t *testing.T) {
	for name, hold := range map[string]func(*faultproxy.Gate) faultproxy.Action{
		"request held": faultproxy.HoldRequest, "reply held": faultproxy.HoldReply,
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			hub := newHub(t, options(proxy.Addr()))
			other := listening(t, hub, "other")
			gate := faultproxy.NewGate()
			held := proxy.On(faultproxy.Command("unsubscribe"), hold(gate))
			listening(t, hub, "a").Leave()
			held.Wait(t, 1)

			again := hub.Listen("a")
			select {
			case <-again.Ready():
				require.Fail(t, "confirmed, although the unsubscription is still ahead of it")
			default:
			}
			gate.Open()
			ready(t, again)
			woken(t, again, "the confirmation")
			publish(t, server, "a")
			woken(t, again, "a message after the subscription was confirmed")
			require.Equal(t, 1, subscribers(t, server))
			require.Empty(t, other.C(), "our own unsubscription is no reason to build anew")
			again.Leave()
			other.Leave()
			silent(t, server)
		})
	}
}

func TestCloseEndsTheConnectionAndWhatComesLaterIsHarmless(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket := listening(t, hub, "a")
	hub.Close()
	require.Empty(t, ticket.C(), "Close wakes nobody: its caller knows")
	silent(t, server)
	redistest.Eventually(t, limit, func() bool { return subscribers(t, server) == 0 },
		"the connection outlives the hub")
	late := hub.Listen("b")
	select {
	case <-late.Ready():
		require.Fail(t, "ready on a closed hub")
	default:
	}
	require.False(t, hub.Subscribed("b"))
	late.Leave()
	ticket.Leave()
	hub.Close()
}

// Close must not wait for a server that does not answer.
func TestCloseWhileNothingAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, spoil := range map[string]func(*faultproxy.Proxy){
		"blackhole":           func(p *faultproxy.Proxy) { p.Blackhole(true) },
		"refused connections": func(p *faultproxy.Proxy) { p.Refuse(true); p.CutAll() },
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, connected before: %v", name, first), func(t *testing.T) {
				t.Parallel()
				proxy := faultproxy.Start(t, server.Addr())
				hub := newHub(t, options(proxy.Addr()))
				if first {
					listening(t, hub, "a").Leave()
				}
				spoil(proxy)
				ticket := hub.Listen("b")
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					hub.Close()
				}()
				redistest.Receive(t, limit, closed, "Close hangs")
				ticket.Leave()
			})
		}
	}
}

// Until it is known which kind of message a cluster uses, nothing can be subscribed; then everything is.
func TestASubscriptionIsMadeWhenTheKindIsKnown(t *testing.T) {
	server := redistest.Start(t)
	failures := make(chan error, 3)
	for range cap(failures) {
		failures <- context.DeadlineExceeded
	}
	hub := newHub(t, options(server.Addr()), func(c *wake.Config) {
		c.Sharded = func(context.Context) (bool, error) {
			select {
			case err := <-failures:
				return false, err
			default:
				return false, nil
			}
		}
	})
	ticket := listening(t, hub, "a")
	require.Empty(t, failures)
	publish(t, server, "a")
	woken(t, ticket, "a message")
	ticket.Leave()
}

// A waiter that sees Ready tries at once. The wake-up of the confirmation is there by then, so it can take it along, and
// does not try again for it.
func TestReadyComesAfterItsWakeUp(t *testing.T) {
	proxy := faultproxy.Start(t, redistest.Shared(t).Addr())
	hub := newHub(t, options(proxy.Addr()))
	for i := range 20 {
		gate, channel := faultproxy.NewGate(), fmt.Sprint(redistest.Key(t), i)
		proxy.On(faultproxy.Command("SUBSCRIBE"), faultproxy.HoldRequest(gate))
		tickets := make([]*wake.Ticket, 500) // all there before the confirmation
		for k := range tickets {
			tickets[k] = hub.Listen(channel)
		}
		gate.Open()
		ready(t, tickets[0])
		for _, ticket := range tickets {
			require.Len(t, ticket.C(), 1)
			ticket.Leave()
		}
	}
}
