package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client keeps so many grants: when another one becomes idle, the one that did so first goes.
func TestTheLongestUnusedIsLetGo(t *testing.T) {
	r := keeper{most: 3}
	idle := make([]*Grant, 5)
	for i := range idle {
		idle[i] = &Grant{id: fmt.Sprint(i), kept: &kept{}}
	}
	at := time.Minute
	for i := range 3 {
		require.Nil(t, r.rests(idle[i], at))
	}
	require.Nil(t, r.rests(idle[1], at+placeFor-1)) // it was used, and is idle again so soon that it keeps its place
	at += placeFor
	require.Nil(t, r.rests(idle[0], at)) // and this one after longer
	require.Equal(t, "1", r.rests(idle[3], at).id)
	require.Equal(t, "2", r.rests(idle[4], at).id)
	require.Equal(t, "0", r.rests(idle[1], at).id)
	require.Same(t, idle[3], r.rests(idle[0], at), "it was taken off, and so has a new place at once")
	require.False(t, r.isEmpty())
	for _, one := range idle {
		r.remove(one)
		r.remove(one)
	}
	require.True(t, r.isEmpty())
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

// A name that another client had which did not ask for it is not kept for some seconds, from when that was seen last. Of
// one that asked it is known how long.
func TestANameThatAMuteClientHadIsNotKept(t *testing.T) {
	var r keeper
	r.taken("k", 0)
	require.False(t, r.may("k", muteBackOff-1))
	require.True(t, r.may("k", muteBackOff))
	r.taken("k", time.Second)
	require.False(t, r.may("k", time.Second+muteBackOff-1))
	require.True(t, r.may("k", time.Second+muteBackOff))

	r.backOff("asked", 0)
	r.taken("asked", firstBackOff-1)
	require.True(t, r.may("asked", firstBackOff))

	for i := range 2 * wantedMost {
		r.taken(fmt.Sprint(i), time.Second)
		require.LessOrEqual(t, len(r.wanted), wantedMost)
	}
	require.False(t, r.may(fmt.Sprint(2*wantedMost-1), time.Second), "the last is known")
}

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
	h, _, _ := f.table.resume(w.req)
	require.NotNil(t, h)
	require.False(t, g.IsIdle())
}
