package zkstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// What a waiter knows of its turn is what the connection told by which both nodes and the base of tokens are watched.
func TestTurn(t *testing.T) {
	const own, other = "/r/a/own", "/r/a/other"
	behind := func(n *session) { // as it is asked for what it knows
		known := n.watchedBase()
		n.store.hub.behind(n, known.on, "a", "id:1", standing{path: own, before: other, second: true})
		n.watchesBase(known, wire.Reply{})
	}
	for what, test := range map[string]struct {
		happens func(n *session)
		turn    bool
	}{
		"the one before it is deleted":         {func(n *session) { n.fired(3, other, true) }, true},
		"it was deleted before it was watched": {func(n *session) { n.store.hub.passed("a", "id:1") }, true},
		"both": {func(n *session) {
			n.fired(3, other, true)
			n.store.hub.passed("a", "id:1")
		}, true},
		"it is there":        {func(*session) {}, false},
		"it is written into": {func(n *session) { n.fired(3, other, false) }, false},
		"the base has changed": {func(n *session) {
			n.fired(3, n.store.basePath(), false)
			n.fired(3, other, true)
		}, false},
		"the base changes before its answer is read": {func(n *session) {
			known := n.watchedBase()
			n.fired(3, n.store.basePath(), false)
			n.watchesBase(known, wire.Reply{})
			n.fired(3, other, true)
		}, false},
		"there is no base": {func(n *session) {
			n.base = watchedBase{on: 3}
			n.watchesBase(n.watchedBase(), wire.Reply{Err: wire.NoNode})
			n.fired(3, other, true)
		}, false},
		"its own node is deleted": {func(n *session) { n.fired(3, own, true) }, false},
		"its own node is deleted, too": {func(n *session) {
			n.fired(3, other, true)
			n.fired(3, own, true)
		}, false},
		"the session is attached in between": {func(n *session) {
			n.base = watchedBase{on: 4}
			n.fired(3, other, true)
			n.watchesBase(n.watchedBase(), wire.Reply{})
		}, false},
		"a connection before tells it": {func(n *session) {
			n.base = watchedBase{on: 4}
			behind(n)
			n.fired(3, other, true)
		}, false},
		"others were before that": {func(n *session) {
			n.store.hub.behind(n, 3, "a", "id:1", standing{path: own, before: other})
			n.fired(3, other, true)
		}, false},
		"it has another node": {func(n *session) {
			n.store.hub.behind(n, 3, "a", "id:1", standing{path: "/r/a/new", before: other, second: true})
			n.fired(3, other, true)
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			n, _, _ := listening(t)
			n.base = watchedBase{on: 3}
			behind(n)
			test.happens(n)
			at := standing{path: own, czxid: 9}
			require.Equal(t, test.turn, n.store.Lock("a").turn(n, &place{id: "id:1"}, &at))
			at.czxid = 0
			require.False(t, n.store.Lock("a").turn(n, &place{id: "id:1"}, &at), "its token is not known")
		})
	}
}
