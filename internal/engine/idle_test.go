package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keeps makes the waiter of a request with Keep, which asks for a key.
func (f *floor) keeps(key string) *waiter {
	f.t.Helper()
	req := keyed(key)
	req.Keep = time.Second
	w := f.engine.newWaiter(req, f.engine.clock.Now(), outer{})
	require.True(f.t, f.table.enter(w, false))
	return w
}

// wins lists the grant that a waiter came to, as the store's answer does, and ends its Hold.
func (f *floor) wins(w *waiter) *Grant {
	f.t.Helper()
	w.key.mu.Lock()
	g, _ := f.engine.newGrantLocked(w.key, w.req, w.ID, 1, f.engine.clock.Now(), 0)
	g.spare, g.kept.wanted = 100, w.wanted
	w.key.winLocked(w, g)
	w.key.unlock()
	require.True(f.t, g.Claim())
	return g
}

// A want that comes before the answer to the request under way is remembered: the grant does not become idle.
func TestAWantThatComesBeforeTheAnswerIsRemembered(t *testing.T) {
	f := newFloor(t)
	f.engine.keeper.most = 10
	w := f.keeps("k")
	f.engine.wanted("k", "another")
	require.False(t, w.wanted)
	f.engine.wanted("k", w.ID)
	g := f.wins(w)
	require.False(t, g.key.rest(g, f.engine.clock.Now()))
	f.engine.wanted("nobody's", w.ID)

	w = f.keeps("m")
	g = f.wins(w)
	require.True(t, g.key.rest(g, f.engine.clock.Now()))
	require.True(t, g.IsIdle())
	require.NotNil(t, f.table.resume(w.req))
	require.False(t, g.IsIdle())
}
