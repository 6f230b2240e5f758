package localqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// turns has a run of so many turns follow the hold of from, each offered to a waiter that comes for it. It returns
// who holds then.
func (f *floor) turns(from string, n int, passed bool) string {
	f.t.Helper()
	for i := range n {
		next := fmt.Sprintf("w %s %d", from, i)
		f.come(next)
		w, runOver := f.offer("w")
		require.False(f.t, runOver, "turn %d", i)
		require.Same(f.t, f.waiters[next], w)
		require.True(f.t, f.grant(from, next, w, passed))
		from = next
	}
	return from
}

// runOver reports whether the hold of from is not handed on, because the run is over.
func (f *floor) runOver(from string) bool {
	f.t.Helper()
	f.come("w last")
	w, runOver := f.offer(from)
	require.Equal(f.t, runOver, w == nil)
	if w != nil {
		f.queue.Recall(w, w.ID)
	}
	f.leave("w last")
	return runOver
}

// G8, G12: a run of hand-offs ends by its count while others wait all the time.
func TestARunOfHandOffsEndsByCount(t *testing.T) {
	f := newFloor(t)
	f.come("w0")
	f.win("w0")
	last := f.turns("w0", runCount, false)
	require.True(t, f.runOver(last))
	f.come("w next")
	f.now = time.Hour
	f.drop(last, 1)
	require.Equal(t, time.Hour+RunPause, f.queue.OutUntil(), "it stays out")
	f.win("w next") // and a new run begins when the key was taken through Redis
	require.False(t, f.runOver("w next"))
}

// The run's time counts from its first hand-off, which is always granted, also if the key was taken
// long ago: with long sections every other turn is a real release.
func TestARunEndsByTime(t *testing.T) {
	for _, passed := range []bool{false, true} {
		t.Run(fmt.Sprintf("without a request: %v", passed), func(t *testing.T) {
			f := newFloor(t)
			f.now = time.Hour // the process is older than any run
			f.come("w0")
			f.win("w0")
			f.now += 2 * runTime
			last := f.turns("w0", 1, passed)
			f.now += runTime - 1
			require.False(t, f.runOver(last))
			f.now++
			require.True(t, f.runOver(last))
		})
	}
}

// Turns that cost no request are not counted against the 64: what they took is. Eight of them are always granted,
// and more as long as they took less than 8 ms, or than what another process pays to take the key: some trips.
func TestARunWithoutRequestsEndsByTime(t *testing.T) {
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
			last := f.turns("w0", c.turns, true)
			f.now += c.took
			require.Equal(t, c.over, f.runOver(last))
		})
	}
}

// G12: the bound of a run holds also where, at times, nobody waits and somebody else looks in.
func TestARunIsNotForgotten(t *testing.T) {
	for name, lookIn := range map[string]func(f *floor){
		"nobody waits for a moment": func(*floor) {},
		"a try fails":               func(f *floor) { require.False(f.t, f.queue.Try(&Waiter{Kind: side("w")})) },
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
			for range runCount {
				lookIn(f)
				from = f.turns(from, 1, false)
				require.False(t, f.queue.Idle(), "a run is remembered")
			}
			lookIn(f)
			require.True(t, f.runOver(from))
		})
	}
}

// The time from one run of a process to its next is to be that of two processes, however many there are.
func TestARunIsShorterTheMoreTakeTurns(t *testing.T) {
	for others, want := range map[int]int{0: 64, 1: 64, 2: 64, 3: 26, 4: 20, 7: 11, 8: 10, 9: 10, 100: 10} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			f := afterRun(t, others, Heard{})
			f.queue.debt.owes = 0 // all of them had their turn
			f.win("w2")
			f.leave("w3")
			last := f.turns("w2", want, false)
			require.True(t, f.runOver(last))
		})
	}
}

func TestARunOfManyProcessesIsShorterInTimeToo(t *testing.T) {
	f := afterRun(t, 8, Heard{})
	f.leave("w3")
	f.win("w2")
	last := f.turns("w2", 1, false)
	f.now += runTime*runLeast/runCount - 1
	require.False(t, f.runOver(last))
	f.now++
	require.True(t, f.runOver(last))
}
