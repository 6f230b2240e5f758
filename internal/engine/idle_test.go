package engine

import (
	"fmt"
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

// Somebody who wants what a request under way is about to take is remembered: its grant does not become idle.
func TestAWantThatComesBeforeTheAnswerIsRemembered(t *testing.T) {
	f := newFloor(t)
	f.engine.keeper.most = 10
	w := f.keeps("k")
	f.engine.wanted("k", "another")
	require.False(t, w.wanted)
	f.engine.wanted("k", w.ID)
	g := f.wins(w)
	require.False(t, g.key.rest(g))
	f.engine.wanted("nobody's", w.ID)

	w = f.keeps("m")
	g = f.wins(w)
	require.True(t, g.key.rest(g))
	require.Equal(t, 1, f.engine.keeper.idles())
	require.NotNil(t, f.table.resume(w.req))
	require.Zero(t, f.engine.keeper.idles())
}

// What is idle has an end: of too many, the one that was unused for the longest time goes.
func TestTheLongestUnusedIsLetGo(t *testing.T) {
	r := keeper{most: 3}
	idle := make([]*kept, 5)
	for i := range idle {
		idle[i] = &kept{grant: &Grant{id: fmt.Sprint(i)}}
	}
	for i := range 3 {
		require.Nil(t, r.add(idle[i]))
	}
	r.remove(idle[0]) // it is used, and idle again
	r.remove(idle[0])
	require.Nil(t, r.add(idle[0]))
	require.Equal(t, "1", r.add(idle[3]).id)
	require.Equal(t, "2", r.add(idle[4]).id)
	require.Equal(t, 3, r.idles())
	for _, one := range idle {
		r.remove(one)
	}
	require.Zero(t, r.idles())
	require.Nil(t, r.first)
	require.Nil(t, r.last)
}

// A name that others want is not kept for a while, for longer each time, and as at first when it was left alone.
func TestANameThatOthersWantIsNotKept(t *testing.T) {
	var r keeper
	var now time.Duration
	pause := func() time.Duration {
		r.backOff("k", now)
		r.backOff("k", now) // once for each time
		began := now
		for !r.may("k", now) {
			now += time.Millisecond
		}
		require.True(t, r.may("another", began))
		return now - began
	}
	for _, most := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		require.Equal(t, most*time.Millisecond, pause())
	}
	now += 31 * time.Second
	require.Equal(t, 100*time.Millisecond, pause())

	for i := range 2 * wantedMost {
		r.backOff(fmt.Sprint(i), now)
		require.LessOrEqual(t, len(r.wanted), wantedMost)
	}
	require.False(t, r.may(fmt.Sprint(2*wantedMost-1), now), "the last is known")
}
