package localqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// turns has a run of so many turns follow the hold of from, each passed to a waiter that comes for it. It returns who
// holds then.
func (f *floor) turns(from string, n int) string {
	f.t.Helper()
	for i := range n {
		next := fmt.Sprintf("w %s %d", from, i)
		f.come(next)
		f.pass(from, next)
		from = next
	}
	return from
}

// runOver reports whether the hold of from does not pass, because the run is over.
func (f *floor) runOver(from string) bool {
	f.t.Helper()
	f.come("w last")
	w, runOver := f.next(from)
	require.Equal(f.t, runOver, w == nil)
	f.leave("w last")
	return runOver
}

// G8, G12: after a run the process stays out, if others heard of its end, and then a new run begins.
func TestAfterARunOthersHaveTheirTurn(t *testing.T) {
	f := newFloor(t)
	f.come("w0")
	f.win("w0")
	last := f.turns("w0", runFew)
	f.now = time.Hour
	require.True(t, f.runOver(last))
	f.come("w next")
	f.drop(last, 1)
	require.Equal(t, time.Hour+RunPause, f.queue.OutUntil(), "it stays out")
	f.win("w next") // and a new run begins when the key was taken through Redis
	require.False(t, f.runOver("w next"))
}

// The run's time counts from its first pass, which is always granted, also if the key was taken long ago: with long
// sections every other turn is a real release.
func TestARunEndsByTime(t *testing.T) {
	f := newFloor(t)
	f.now = time.Hour // the process is older than any run
	f.come("w0")
	f.win("w0")
	f.now += 2 * runTime
	last := f.turns("w0", 1)
	f.now += runTime - 1
	require.False(t, f.runOver(last))
	f.now++
	require.True(t, f.runOver(last))
}

// Eight passes are granted if they take no longer than a run, and more as long as they took less than 8 ms, or than
// what another process pays to take the key: some trips.
func TestALongRunEndsByTime(t *testing.T) {
	for name, c := range map[string]struct {
		turns int
		trip  time.Duration
		took  time.Duration
		over  bool
	}{
		"many, in no time":               {1000, 0, 0, false},
		"few":                            {runFew - 1, 0, runTime - 1, false},
		"few, for long":                  {runFew - 1, 0, runTime, true},
		"enough":                         {runFew, 0, runShort - 1, false},
		"enough, for long enough":        {runFew, 0, runShort, true},
		"many, where trips take longer":  {1000, 3 * time.Millisecond, 12*time.Millisecond - 1, false},
		"as long as some trips":          {1000, 3 * time.Millisecond, 12 * time.Millisecond, true},
		"trips are longer than any run":  {1000, time.Second, runTime - 1, false},
		"and a run is no longer than 50": {1000, time.Second, runTime, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w0")
			f.queue.Took(c.trip)
			f.win("w0")
			last := f.turns("w0", c.turns)
			f.now += c.took
			require.Equal(t, c.over, f.runOver(last))
		})
	}
}

// G12: the bound of a run holds also where, at times, nobody waits and somebody else looks in.
func TestARunIsNotForgotten(t *testing.T) {
	for name, lookIn := range map[string]func(f *floor){
		"nobody waits for a moment": func(*floor) {},
		"a try fails":               func(f *floor) { require.False(f.t, f.queue.Try(&Waiter{Caller: Caller{Kind: side("w")}})) },
		"a waiter comes and goes": func(f *floor) {
			f.come("w late")
			f.leave("w late")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w")
			f.win("w")
			from := "w"
			for range runFew {
				lookIn(f)
				from = f.turns(from, 1)
				f.now += runShort / (runFew - 1)
				require.False(t, f.queue.Idle(), "a run is remembered")
			}
			lookIn(f)
			require.True(t, f.runOver(from))
		})
	}
}

// The time from one run of a process to its next is to be that of two processes, however many there are.
func TestARunIsShorterTheMoreTakeTurns(t *testing.T) {
	const ms = time.Millisecond
	for others, want := range map[int]time.Duration{
		0: 50 * ms, 1: 50 * ms, 2: 50 * ms, 4: 15625 * time.Microsecond, 5: 12500 * time.Microsecond, 8: 8 * ms, 100: 8 * ms,
	} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			f := afterRun(t, others, Heard{})
			f.queue.debt.owes = 0 // all of them had their turn
			f.win("w2")
			f.leave("w3")
			last := f.turns("w2", 1)
			f.now += want - 1
			require.False(t, f.runOver(last))
			f.now++
			require.True(t, f.runOver(last))
		})
	}
}
