package zkstore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/watchdog"
)

// holding is an id that holds a lock, since the given time before now, and whose node is watched if that is long
// enough.
func holding(t *testing.T, since time.Duration) (n *session, p *place, gone chan string) {
	t.Helper()
	n, gone = offline(), make(chan string, 1)
	n.store.Start(store.Host{Clock: watchdog.NewClock(), Gone: func(_, id string, _ error) { gone <- id }})
	t.Cleanup(func() {
		n.store.HangUp()
		n.store.runs.close()
	})
	p = n.claim(n.store.Lock("a"), "id:1")
	n.begins(p)
	n.landed(p, n.number, p.prefix+"0000000003", 9, nil)
	require.True(t, n.holds(p, p.path, 9, n.store.host.Clock.Now()-since))
	return n, p, gone
}

// The node of a hold is watched once on each connection, when the hold is a moment old.
func TestWhenANodeIsWatched(t *testing.T) {
	n, _, _ := holding(t, 0)
	paths, young := n.unwatched()
	require.Empty(t, paths)
	require.True(t, young)

	n, p, _ := holding(t, moment)
	for range 2 {
		paths, young = n.unwatched()
		require.Equal(t, []string{p.path}, paths)
		require.False(t, young)
		paths, young = n.unwatched()
		require.Empty(t, paths, "it is watched")
		require.False(t, young)
		n.settleLocked([]string{p.path})
	}
	n.unholds(p)
	paths, young = n.unwatched()
	require.Empty(t, paths)
	require.False(t, young)
}

// A hold ends once, with the deletion of its node and nothing else.
func TestWhatEndsAHold(t *testing.T) {
	n, p, gone := holding(t, moment)
	path := p.path
	n.fired(0, path, true)
	require.Equal(t, unwatched, p.hold)
	n.unwatched()
	n.fired(0, path, false)
	n.fired(0, p.prefix+"0000000002", true)
	n.fired(0, "/r/a", true)
	require.Equal(t, watchedHold, p.hold)
	n.fired(0, path, true)
	n.fired(0, path, true)
	require.Equal(t, "id:1", servers.Receive(t, patience, gone, "its end is told"))
	n.store.runs.close()
	require.Empty(t, gone)
	require.Empty(t, n.places)

	n, p, gone = holding(t, moment)
	n.unwatched()
	n.unholds(p) // it is about to be released
	n.fired(0, p.path, true)
	n.store.runs.close()
	require.Empty(t, gone)
}

// What cannot be asked now is asked when the session is attached next.
func TestAWatchThatCannotBeAsked(t *testing.T) {
	n, p, _ := holding(t, moment)
	n.store.HangUp()
	require.False(t, n.watchHolds())
	n.settleLocked([]string{p.path})
	paths, _ := n.unwatched()
	require.Equal(t, []string{p.path}, paths)
	require.ErrorIs(t, n.store.life.Err(), context.Canceled)
}
