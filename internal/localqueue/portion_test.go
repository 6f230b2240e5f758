package localqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// part is one of several.
type part struct{}

func (part) Mode() string              { return "p" }
func (part) Excludes(string) bool      { return false }
func (part) Follows(string) bool       { return true }
func (part) Inherits(held string) bool { return held == "p" }

// portions is a queue of those that want portions, the first of which was refused and rests.
func portions(f *floor, sizes ...int64) (waiting []*Waiter) {
	for i, size := range sizes {
		w := &Waiter{Caller: Caller{Kind: part{}, Several: true, Size: size}}
		f.queue.Enter(w)
		waiting = append(waiting, w)
		if i == 0 {
			_, send := f.queue.Request(w, Heard{}, f.now)
			require.True(f.t, send)
			f.queue.Busy(w)
		}
	}
	return waiting
}

func (f *floor) passes(p *Portion, to *Waiter) {
	f.t.Helper()
	w, runOver := f.queue.Next("p", p, f.now)
	require.False(f.t, runOver)
	require.Same(f.t, to, w)
	f.queue.Grant(w, p, f.now)
}

// R4: a portion is passed on for as long as a run goes on, whatever becomes of others of its key.
func TestARunOfAPortionIsItsOwn(t *testing.T) {
	f := newFloor(t)
	waiting := portions(f, 1, 1, 1, 1)
	f.queue.Rest(waiting[0], Heard{}, 0)
	one, other := &Portion{Size: 1}, &Portion{Size: 1}
	f.passes(one, waiting[0])
	f.now += runTime
	f.queue.Hold("p")
	f.queue.Win(&Waiter{Caller: Caller{Kind: part{}, Several: true, Size: 1}}) // another one is taken through Redis
	w, runOver := f.queue.Next("p", one, f.now)
	require.Nil(t, w)
	require.True(t, runOver)
	f.passes(other, waiting[1])
}

// R3: nobody is given a portion while a request of its own is under way. A waiter that wants as much and has none
// is given it then; for another number nobody behind is served.
func TestWhoIsGivenAPortion(t *testing.T) {
	f := newFloor(t)
	one := &Portion{Size: 1}
	alike := portions(f, 1, 1)
	f.passes(one, alike[1])
	f.queue.Rest(alike[0], Heard{}, 0)
	f.passes(one, alike[0])

	f = newFloor(t)
	mixed := portions(f, 2, 1)
	for range 2 {
		w, runOver := f.queue.Next("p", one, f.now)
		require.Nil(t, w)
		require.False(t, runOver)
		f.queue.Rest(mixed[0], Heard{}, 0)
	}
	f.passes(&Portion{Size: 2}, mixed[0])
	f.passes(one, mixed[1])
}

// A waiter that comes to be first relies on what another one was told that wanted as much, until that is out of
// date or something was heard.
func TestWhoNeedNotAskForAPortion(t *testing.T) {
	heard := Heard{Subscription: 1, Messages: 7}
	for name, c := range map[string]struct {
		size  int64
		heard Heard
		after time.Duration
		sends bool
	}{
		"the same":                   {1, heard, 0, false},
		"another number":             {2, heard, 0, true},
		"a message came":             {1, Heard{1, 8}, 0, true},
		"under another subscription": {1, Heard{2, 7}, 0, true},
		"it is out of date":          {1, heard, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			waiting := portions(f, 1, c.size)
			f.queue.Rest(waiting[0], heard, time.Second)
			f.queue.Leave(waiting[0])
			f.now += c.after
			wait, sends := f.queue.Request(waiting[1], c.heard, f.now)
			require.Equal(t, c.sends, sends)
			require.Equal(t, !c.sends, wait > 0)
		})
	}
}

// Where the runs of several portions end together, nobody is thought to be absent for that.
func TestRunsOfPortionsThatEndTogetherAreOneDebt(t *testing.T) {
	f := newFloor(t)
	portions(f, 1)
	heard := Heard{Subscription: 1, Messages: 1}
	for range 3 {
		f.queue.RunEnds(heard)
		f.queue.ReleasedPortion(3, f.now)
	}
	require.Zero(t, f.queue.debt.absent)
	require.Equal(t, 3, f.queue.debt.others)
	require.Equal(t, 3+3, f.queue.debt.owes, "three of others, and our own for each")
}
