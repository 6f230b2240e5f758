package zkstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/watchdog"
)

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = 30 * time.Second

// listening is a waiter whose node, and the one before it, are watched.
func listening(t *testing.T) (n *session, told chan string, ticket store.Ticket) {
	t.Helper()
	n, told = offline(), make(chan string, 2)
	n.store.lease = time.Hour
	n.store.Start(store.Host{Clock: watchdog.NewClock(), Heard: func(key string) { told <- key }})
	n.store.hub.behind(n, 0, "a", "id:1", standing{path: "/r/a/own", before: "/r/a/other"})
	ticket = n.store.Listen("a", "key")
	require.Nil(t, ticket.Ready(), "nothing was missed")
	t.Cleanup(func() {
		n.timerStops()
		n.store.hub.close()
	})
	return n, told, ticket
}

func (n *session) timerStops() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer.Stop()
	}
}

// woken requires that a waiter was woken, and the engine told.
func woken(t *testing.T, told chan string, ticket store.Ticket) {
	t.Helper()
	require.Equal(t, "key", servers.Receive(t, patience, told, "the engine is told"))
	servers.Receive(t, patience, ticket.C(), "the waiter is woken")
	require.EqualValues(t, 1, ticket.Heard().Messages)
}

func TestAWaiterIsWoken(t *testing.T) {
	for what, happens := range map[string]func(n *session){
		"the one before leaves":        func(n *session) { n.store.hub.fired(0, "/r/a/other", true) },
		"its own node is deleted":      func(n *session) { n.store.hub.fired(0, "/r/a/own", true) },
		"its session is attached anew": func(n *session) { n.follow(&found{}) },
		"its session is over":          func(n *session) { n.over = true; n.tell() },
	} {
		t.Run(what, func(t *testing.T) {
			n, told, ticket := listening(t)
			n.store.hub.fired(0, "/r/b/other", true)
			require.Empty(t, told)
			happens(n)
			woken(t, told, ticket)
			happens(n) // once: nothing is watched any more
			require.Empty(t, told)
			require.NotNil(t, n.store.Listen("a", "key").Ready(), "who comes now asks")
			before, _ := n.store.hub.before("a", "id:1")
			require.Equal(t, what == "the one before leaves", before == "", "it is known who was before")
			ticket.Leave()
		})
	}
}

// What changes between the look and the watch, or while nobody listens yet, is not missed.
func TestAnEventBeforeTheWaiterListens(t *testing.T) {
	n, told, ticket := listening(t)
	ticket.Leave()
	n.store.hub.fired(0, "/r/a/other", true)
	require.Equal(t, "key", servers.Receive(t, patience, told, "the engine is told"))
	select {
	case <-n.store.Listen("a", "key").Ready():
	default:
		require.Fail(t, "it would wait for what has happened")
	}
}

// A waiter that left, or has the lock, is not woken by what it was waiting for.
func TestAWaiterThatLeft(t *testing.T) {
	n, told, ticket := listening(t)
	n.store.hub.leave("a", "id:2")
	n.store.hub.leave("a", "id:1")
	n.store.hub.fired(0, "/r/a/other", true)
	require.Empty(t, told)
	require.Empty(t, n.store.hub.watched)
	before, _ := n.store.hub.before("a", "id:1")
	require.Empty(t, before)
	ticket.Leave()
}
