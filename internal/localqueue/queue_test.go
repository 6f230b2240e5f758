package localqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// G7, G12: one of an exclusive lock's waiters asks Redis, the first; the queue is first in first out.
func TestAnExclusiveQueueIsFirstInFirstOut(t *testing.T) {
	f := newFloor(t)
	f.come("w1", "w2", "w3")
	f.asking("w1")
	f.win("w1")
	f.asking()
	f.come("w4")
	for _, next := range []struct{ done, asks string }{{"w1", "w2"}, {"w2", "w3"}, {"w3", "w4"}} {
		f.drop(next.done, 0)
		f.asking(next.asks)
		f.win(next.asks)
	}
	f.drop("w4", 0)
	f.empty()
}

// Interleaving 19: what conflicts is the kind's to say. Readers ask together, a writer waits for
// all before it, and nobody overtakes it.
func TestSharedQueue(t *testing.T) {
	f := newFloor(t)
	f.come("r1", "r2")
	f.asking("r1", "r2")
	f.win("r2")
	f.come("r3")
	f.asking("r1", "r3")
	f.come("w1", "r4", "r5")
	f.asking("r1", "r3") // r4 could share with them, and stays behind the writer
	f.win("r1")
	f.win("r3")
	f.asking()
	f.drop("r2", 0)
	f.drop("r1", 0)
	f.asking()
	f.drop("r3", 0)
	f.asking("w1")
	f.win("w1")
	f.asking()
	f.drop("w1", 0)
	f.asking("r4", "r5")
	f.win("r4")
	f.win("r5")
	f.drop("r5", 0)
	f.drop("r4", 0)
	f.empty()
}

// A waiter that leaves, from any place, lets those behind it go on, and nobody else.
func TestLeavingLetsTheNextGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		queue  []string
		leaves string
		ask    []string
	}{
		"the one that asks":                 {[]string{"w1", "w2", "w3"}, "w1", []string{"w2"}},
		"the middle":                        {[]string{"w1", "w2", "w3"}, "w2", []string{"w1"}},
		"the last":                          {[]string{"w1", "w2", "w3"}, "w3", []string{"w1"}},
		"the only one":                      {[]string{"w1"}, "w1", nil},
		"a writer between readers":          {[]string{"r1", "w1", "r2", "r3"}, "w1", []string{"r1", "r2", "r3"}},
		"a writer that asks before readers": {[]string{"w1", "r1", "r2"}, "w1", []string{"r1", "r2"}},
		"one of the readers that ask":       {[]string{"r1", "r2", "w1"}, "r1", []string{"r2"}},
		"the first of two writers":          {[]string{"r1", "w1", "w2", "r2"}, "w1", []string{"r1"}},
		"the last reader ahead of a writer": {[]string{"r1", "w1", "r2"}, "r1", []string{"w1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come(c.queue...)
			require.Zero(t, f.leave(c.leaves), "nothing was sent")
			f.state(c.leaves, Left)
			f.asking(c.ask...)
			for _, other := range c.queue {
				f.leave(other) // twice for the one that left: it changes nothing
			}
			f.empty()
		})
	}
}

var errSilent = errors.New("no answer")

// A try enters where nobody here can refuse it, and asks at once; it leaves no trace otherwise.
func TestTryIsRefusedByHoldsAndByWaitersThatWereRefused(t *testing.T) {
	f := newFloor(t)
	try := func(mode side) bool {
		w := &Waiter{Caller: Caller{Kind: mode}}
		entered := f.queue.Try(w)
		if entered {
			require.Equal(t, Asking, w.state)
			f.queue.Leave(w)
		}
		return entered
	}
	require.True(t, try("w"))
	f.empty()
	f.come("r1")
	require.True(t, try("r"))
	require.True(t, try("w"), "somebody asks, and was not refused")
	f.queue.Busy(f.waiters["r1"])
	require.True(t, try("r"), "readers go together")
	require.False(t, try("w"), "somebody was refused")
	f.queue.Say(Said{Err: errSilent})
	require.True(t, try("w"), "what Redis said before it fell silent")
	f.win("r1")
	require.True(t, try("r"))
	require.False(t, try("w"), "somebody holds")
	f.come("w1", "w2")
	require.False(t, try("r"), "a writer waits, whom that hold refused")
	f.queue.RefuseFirst("r")
	f.drop("r1", 0)
	f.asking("w1")
	require.False(t, try("w"), "it is the turn of one that waited for that hold")
	require.False(t, try("r"))
	f.leave("w1")
	require.True(t, try("w"), "the next one has not asked yet")
	f.leave("w2")
	f.empty()
}

// Those that ask one after the other while Redis is silent share one patience, unless it answers in between.
func TestSilenceCountsFromTheFirstFailure(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	require.Equal(t, 2*time.Second, f.queue.SilentSince(2*time.Second), "no request has ended")
	f.queue.Say(Said{At: 3 * time.Second, Err: errSilent})
	f.queue.Say(Said{At: 5 * time.Second, Err: errSilent})
	require.Equal(t, 3*time.Second, f.queue.SilentSince(6*time.Second))
	f.queue.Say(Said{At: 6 * time.Second, Spoke: true})
	require.Equal(t, 6*time.Second, f.queue.SilentSince(6*time.Second))
	f.queue.Say(Said{At: 7 * time.Second, Err: errSilent})
	require.Equal(t, 7*time.Second, f.queue.SilentSince(9*time.Second))
}

// Of two requests the one that ended last counts, in whichever order they are noted.
func TestTheRequestThatEndedLastCounts(t *testing.T) {
	var q Queue
	require.Equal(t, Said{}, q.Said())
	q.Say(Said{At: 2, Spoke: true, Why: errSilent, Mode: "p", Size: 3})
	q.Say(Said{At: 1, Err: errSilent})
	require.NoError(t, q.Said().Err)
	require.Equal(t, errSilent, q.Said().WhyTo("p", 3))
	require.NoError(t, q.Said().WhyTo("p", 1), "one that wants less")
	require.NoError(t, q.Said().WhyTo("c", 3), "another mode")
	q.Say(Said{At: 3, Spoke: true, Why: errSilent, Mode: "p"})
	require.Equal(t, errSilent, q.Said().WhyTo("p", 1), "it concerns all that want something")
	q.Say(Said{At: 3, Err: errSilent})
	require.Equal(t, Said{At: 3, Err: errSilent}, q.Said())
}

// What a waiter leaves behind is its own to clean up if it used its id, and nobody else does.
func TestWhatALeavingWaiterCleansUp(t *testing.T) {
	for name, c := range map[string]struct {
		before func(f *floor)
		want   Remains
	}{
		"it never asked": {func(*floor) {}, Remains{}},
		"it asked":       {func(f *floor) { f.waiters["w2"].Asks() }, Remains{ID: "id-w2"}},
		"its id was given up, and cleaned up": {func(f *floor) {
			f.waiters["w2"].Asks()
			f.waiters["w2"].Rename("fresh")
		}, Remains{}},
		"it is being registered": {func(f *floor) {
			f.queue.Entrants([]*Waiter{f.waiters["w2"]})
		}, Remains{ID: "id-w2"}},
		"it was registered": {func(f *floor) {
			batch := []*Waiter{f.waiters["w2"]}
			f.queue.Entrants(batch)
			f.queue.Registered(batch, []int64{1}, 0)
		}, Remains{ID: "id-w2"}},
		"nobody knows whether it was registered": {func(f *floor) {
			batch := []*Waiter{f.waiters["w2"]}
			f.queue.Entrants(batch)
			f.queue.Registered(batch, nil, 7)
		}, Remains{ID: "id-w2", Late: 7}},
		"a hold came to it": {func(f *floor) {
			f.queue.Stands(1, f.now)
			f.waiters["w2"].SetTicket(1)
			f.pass("w1", "w2")
		}, Remains{Hold: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.win("w1")
			f.enrol("w2")
			c.before(f)
			require.Equal(t, c.want, f.leave("w2"))
			require.Zero(t, f.leave("w2"), "once")
		})
	}
}

// Of a hold that is listed by modes, each is counted.
func TestModes(t *testing.T) {
	var m modes
	is := func(mode string) func(string) bool { return func(at string) bool { return at == mode } }
	for _, mode := range []string{"a", "b", "c", "b"} {
		m.add(mode, 1)
	}
	require.Equal(t, 4, m.total())
	require.False(t, m.anyBesides("a", is("a")))
	require.True(t, m.anyBesides("b", is("b")), "there are two")
	require.False(t, m.anyBesides("c", is("c")))
	for _, mode := range []string{"a", "b", "c"} {
		require.True(t, m.any(is(mode)))
		m.add(mode, -1)
	}
	require.True(t, m.any(is("b")))
	m.add("b", -1)
	require.Zero(t, m.total())
	require.False(t, m.any(func(string) bool { return true }))
	m.add("d", 1)
	require.True(t, m.any(is("d")))
}
