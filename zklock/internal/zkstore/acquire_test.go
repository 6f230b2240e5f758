package zkstore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// offline is a session without a connection.
func offline() *session {
	return &session{
		store: stored("/r"), attaching: make(chan struct{}, 1), places: make(map[string]*place), wire: wire.Session{ID: 7},
	}
}

// However an acquisition ends of which an earlier request had no answer, its node may stand, or come: it is in doubt.
// Otherwise the id would not be released, and its node stand for as long as the client lives.
func TestAnErrorBehindARequestWithoutAnAnswer(t *testing.T) {
	n := offline()
	l := n.store.Lock("a")
	p := n.claim(l, "id:1")
	for _, why := range []error{meaning(wire.ErrUnsent), meaning(wire.Throttled), meaning(wire.NoAuth)} {
		require.Equal(t, why, l.leftover(context.Background(), n, p, why), "nothing was asked for")
		n.begins(p)
		n.landed(p, n.number, "", 0, meaning(wire.ErrLost))
		err := l.leftover(context.Background(), n, p, why)
		require.Equal(t, store.FaultAmbiguous, store.FaultOf(err))
		require.ErrorIs(t, err, why)
		n.settleLocked(nil)
		require.Equal(t, why, l.leftover(context.Background(), n, p, why), "the session was looked through")
	}
}

// A request that was sent on a connection before the present one was settled as the session was attached.
func TestARequestOfAnEarlierConnection(t *testing.T) {
	n := offline()
	l := n.store.Lock("a")
	p := n.claim(l, "id:1")
	n.begins(p)
	n.number++
	gone, strange := n.settleLocked([]string{p.prefix + "0000000003", p.prefix + "0000000004", "/r/a/x.7-lock-0000000001"})
	require.Empty(t, gone)
	require.Equal(t, []string{p.prefix + "0000000004", "/r/a/x.7-lock-0000000001"}, strange)
	n.landed(p, n.number-1, "", 0, meaning(wire.ErrLost))
	path, _, doubt := n.known(p)
	require.False(t, doubt)
	require.Equal(t, p.prefix+"0000000003", path)
	require.True(t, n.holds(p, path, 9, 0))
	gone, strange = n.settleLocked(nil)
	require.Equal(t, []owner{{"a", "id:1"}}, gone)
	require.Empty(t, strange)
	require.False(t, n.holds(p, path, 9, 0))
	require.False(t, n.stands(p))
	n.dismiss(p)
	require.Empty(t, n.places)
	require.Zero(t, n.bytes)
}

// A session has room for 256 KiB of paths.
func TestASessionIsFull(t *testing.T) {
	n := offline()
	bytes, id := 0, ""
	for {
		id += "x"
		p := n.claim(n.store.Lock("a"), id)
		if p == nil {
			break
		}
		bytes += len(p.prefix) + digits
	}
	require.Less(t, bytes, mostPaths)
	require.NotNil(t, n.claim(n.store.Lock("a"), "x"), "which is there")
	n.over = true
	require.Nil(t, n.claim(n.store.Lock("a"), "x"))
}
