package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/watchdog"
)

// side is one side of a fake lock: "w" excludes everybody, "r" goes together with "r". Its scripts are
// missing, because the table sends none.
type side struct {
	Protocol
	mode, key string
}

func (p side) Name() string { return p.key }
func (p side) Key() string  { return p.key }
func (p side) Mode() string { return p.mode }

func (p side) Excludes(held string) bool { return p.mode == "w" || held == "w" }
func (p side) Follows(ahead string) bool { return p.mode == "w" || ahead == "w" }
func (p side) Inherits(held string) bool { return p.mode == "w" && held == "w" }

// floor is a table with one name's waiters and holds, by their letters.
type floor struct {
	made    holdNumber // of the holds so far
	t       *testing.T
	table   *table
	engine  *Engine
	waiters map[string]*waiter
	holds   map[string]*Hold
}

func newFloor(t *testing.T) *floor {
	e := &Engine{clock: watchdog.NewClock()}
	e.table.engine = e
	return &floor{
		t: t, engine: e, table: &e.table,
		waiters: make(map[string]*waiter), holds: make(map[string]*Hold),
	}
}

// come has a waiter enter: who is a letter, r or w, and anything behind it.
func (f *floor) come(who ...string) {
	for _, name := range who {
		w := &waiter{
			req: Request{Proto: side{mode: name[:1], key: "k"}}, id: "id-" + name,
			notify: make(chan struct{}, 1),
		}
		f.waiters[name] = w
		require.True(f.t, f.table.enter(w, false))
	}
}

func (f *floor) hold(name string) *Hold {
	f.made++
	h := &Hold{
		engine: f.engine, proto: side{mode: name[:1], key: "k"}, number: f.made,
		start: f.engine.clock.Now(),
	}
	f.holds[name] = h
	return h
}

// win has a leader come to its hold through Redis.
func (f *floor) win(name string) {
	f.t.Helper()
	f.stand(name, leading)
	f.table.win(f.waiters[name], f.hold(name))
}

func (f *floor) stand(name string, want place) {
	f.t.Helper()
	at, _, _ := f.table.look(f.waiters[name])
	require.Equal(f.t, want, at, "where %s stands", name)
}

// leading asserts who may ask Redis, of all that ever came.
func (f *floor) leading(who ...string) {
	f.t.Helper()
	var lead []string
	for name, w := range f.waiters {
		if at, _, _ := f.table.look(w); at == leading {
			lead = append(lead, name)
		}
	}
	require.ElementsMatch(f.t, who, lead)
}

func (f *floor) empty() {
	f.t.Helper()
	for i := range f.table.parts {
		require.Empty(f.t, f.table.parts[i].rows, "a row that nobody needs")
	}
}

func (f *floor) drop(name string) { f.table.drop(f.holds[name], 0) }

// G7, G12: one of an exclusive lock's waiters asks Redis, the first; the line is first in first out.
func TestExclusiveLineIsFirstInFirstOut(t *testing.T) {
	f := newFloor(t)
	f.come("w1", "w2", "w3")
	f.leading("w1")
	f.win("w1")
	f.leading()
	f.come("w4")
	for _, next := range []struct{ done, leads string }{{"w1", "w2"}, {"w2", "w3"}, {"w3", "w4"}} {
		f.drop(next.done)
		f.leading(next.leads)
		f.win(next.leads)
	}
	f.drop("w4")
	f.empty()
}

// Interleaving 19: what conflicts is the protocol's to say. Readers lead together, a writer waits for
// all before it, and nobody overtakes it.
func TestSharedLine(t *testing.T) {
	f := newFloor(t)
	f.come("r1", "r2")
	f.leading("r1", "r2")
	f.win("r2")
	f.come("r3")
	f.leading("r1", "r3")
	f.come("w1", "r4", "r5")
	f.leading("r1", "r3") // r4 could share with them, and stays behind the writer
	f.win("r1")
	f.win("r3")
	f.leading()
	f.drop("r2")
	f.drop("r1")
	f.leading()
	f.drop("r3")
	f.leading("w1")
	f.win("w1")
	f.leading()
	f.drop("w1")
	f.leading("r4", "r5")
	f.win("r4")
	f.win("r5")
	f.drop("r5")
	f.drop("r4")
	f.empty()
}

// Whoever leaves, from whatever place, lets those behind it go on, and nobody else.
func TestLeavingLetsTheNextGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		line   []string
		leaves string
		lead   []string
	}{
		"the leader":                        {[]string{"w1", "w2", "w3"}, "w1", []string{"w2"}},
		"the middle":                        {[]string{"w1", "w2", "w3"}, "w2", []string{"w1"}},
		"the last":                          {[]string{"w1", "w2", "w3"}, "w3", []string{"w1"}},
		"the only one":                      {[]string{"w1"}, "w1", nil},
		"a writer between readers":          {[]string{"r1", "w1", "r2", "r3"}, "w1", []string{"r1", "r2", "r3"}},
		"a leading writer before readers":   {[]string{"w1", "r1", "r2"}, "w1", []string{"r1", "r2"}},
		"one of the leading readers":        {[]string{"r1", "r2", "w1"}, "r1", []string{"r2"}},
		"the first of two writers":          {[]string{"r1", "w1", "w2", "r2"}, "w1", []string{"r1"}},
		"the last reader ahead of a writer": {[]string{"r1", "w1", "r2"}, "r1", []string{"w1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come(c.line...)
			require.Nil(t, f.table.leave(f.waiters[c.leaves]))
			f.stand(c.leaves, gone)
			f.leading(c.lead...)
			for _, other := range c.line {
				f.table.leave(f.waiters[other]) // twice for the one who left: it changes nothing
			}
			f.empty()
		})
	}
}

// A try enters where nobody here can refuse it, and leads at once; it leaves no trace otherwise.
func TestTryIsRefusedByHoldsAndByThoseWhoWereRefused(t *testing.T) {
	f := newFloor(t)
	try := func(mode string) bool {
		w := &waiter{req: Request{Proto: side{mode: mode, key: "k"}}, notify: make(chan struct{}, 1)}
		entered := f.table.enter(w, true)
		if entered {
			require.Equal(t, leading, w.place)
			f.table.leave(w)
		}
		return entered
	}
	require.True(t, try("w"))
	f.empty()
	f.come("r1")
	require.True(t, try("r"))
	require.True(t, try("w"), "somebody asks, and was not refused")
	f.table.toldBusy(f.waiters["r1"])
	require.True(t, try("r"), "readers go together")
	require.False(t, try("w"), "somebody was refused")
	f.table.answered(f.waiters["r1"], errNoAnswer)
	require.True(t, try("w"), "what Redis said before it fell silent")
	f.win("r1")
	require.True(t, try("r"))
	require.False(t, try("w"), "somebody holds")
	f.come("w1", "w2")
	require.False(t, try("r"), "a writer waits, whom that hold refused")
	f.table.keepTurn(f.holds["r1"])
	f.drop("r1")
	f.leading("w1")
	require.False(t, try("w"), "it is the turn of one who waited for that hold")
	require.False(t, try("r"))
	f.table.leave(f.waiters["w1"])
	require.True(t, try("w"), "the next one has not asked yet")
	f.table.leave(f.waiters["w2"])
	f.empty()
}
