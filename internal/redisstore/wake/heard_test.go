package wake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// later returns a count of the same subscription, n messages later.
func later(base store.Heard, n uint64) store.Heard {
	base.Messages += n
	return base
}

// Unread wake-ups count as one; messages are counted each.
func TestEveryMessageIsCounted(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket, other := listening(t, hub, "a"), listening(t, hub, "b")
	base := hub.Heard("a")
	for range 5 {
		publish(t, server, "a")
	}
	publish(t, server, "b")
	woken(t, other, "a message") // one connection keeps the order
	for _, count := range []store.Heard{hub.Heard("a"), ticket.Heard()} {
		require.Equal(t, later(base, 5), count)
	}
	ticket.Leave()
	other.Leave()
}

// A waiter that was woken finds the message counted, from the very first one on.
func TestAMessageIsCountedBeforeItWakes(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket := listening(t, hub, "a")
	for range 100 {
		base := ticket.Heard()
		publish(t, server, "a")
		woken(t, ticket, "a message")
		require.Equal(t, later(base, 1), ticket.Heard())
	}
	ticket.Leave()
}

// A count continues while nobody waits and the subscription lingers, and with the next ticket.
func TestACountOutlivesItsTicket(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), lingering(time.Minute))
	first := listening(t, hub, "a")
	base := first.Heard()
	first.Leave()
	publish(t, server, "a")
	second := hub.Listen("a")
	publish(t, server, "a")
	woken(t, second, "a message")
	redistest.Eventually(t, limit, func() bool { return second.Heard() == later(base, 2) },
		"not both were counted")
	second.Leave()
}

// Each subscription has a number, and 0 means none: messages may have been missed between two of them.
func TestACountIsOfOneSubscription(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	none := hub.Heard("a")
	require.Equal(t, store.Heard{}, none)
	ticket := listening(t, hub, "a")
	before := ticket.Heard()
	killSubscribers(t, server)
	woken(t, ticket, "a subscription that was made anew")
	after := ticket.Heard()
	require.NotZero(t, before.Subscription)
	require.NotZero(t, after.Subscription)
	require.NotEqual(t, before.Subscription, after.Subscription)
	ticket.Leave()
	silent(t, server)
	redistest.Eventually(t, limit, func() bool { return hub.Heard("a") == none },
		"a channel is counted that nobody listens to")
}

// A writer's release publishes two messages, of which the second is for Java (defect F3).
func TestAWritersReleaseCountsOnce(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	ticket := listening(t, hub, "a")
	base := ticket.Heard()
	rdb := server.Client(t)
	for _, payload := range []string{"1", "0", "0", "1", "1", "0"} {
		require.NoError(t, rdb.Publish(t.Context(), "a", payload).Err())
	}
	redistest.Eventually(t, limit, func() bool { return ticket.Heard() == later(base, 4) },
		"not four releases were counted")
	ticket.Leave()
}
