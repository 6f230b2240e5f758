package localqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// turnsOf lets a process that nobody else of it waits in take turns of some length until its series ends, and returns
// how many there were.
func turnsOf(q *Queue, start, length time.Duration) (n int) {
	for n = 1; q.GoesOn(start, start+length); n++ {
		start += length
	}
	return n
}

// One goroutine that comes back at once has turns for runShort, and one where a turn takes half of that or more (defect
// F3).
func TestASeriesIsBoundedByTime(t *testing.T) {
	for length, want := range map[time.Duration]int{
		100 * time.Microsecond: 80, time.Millisecond: 8, 3 * time.Millisecond: 2, 4 * time.Millisecond: 2,
		5 * time.Millisecond: 1, runShort: 1, time.Second: 1,
	} {
		var q Queue
		require.Equal(t, want, turnsOf(&q, time.Hour, length), "turns of %v", length)
		require.Equal(t, want, turnsOf(&q, 2*time.Hour, length), "the next series begins anew")
	}
}

// A waiter of this process, or a wait for another process, ends the series: the next turn is the first of another one.
func TestWhatEndsASeries(t *testing.T) {
	for name, end := range map[string]func(f *floor){
		"another one of the process waits": func(f *floor) {
			f.come("w1")
			require.False(t, f.queue.GoesOn(0, time.Millisecond))
			f.leave("w1")
		},
		"another process had a turn": func(f *floor) {
			f.come("w1")
			f.queue.Busy(f.waiters["w1"])
			f.leave("w1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			require.True(t, f.queue.GoesOn(0, time.Millisecond))
			require.False(t, f.queue.Idle())
			end(f)
			require.True(t, f.queue.Idle())
			require.True(t, f.queue.GoesOn(time.Hour, time.Hour+time.Millisecond))
		})
	}
}

// In a series nothing is owed: what was owed before was waited for as it began. It is owed again when the series ends.
func TestNothingIsOwedInASeries(t *testing.T) {
	f := newFloor(t)
	f.queue.RunEnds(Heard{})
	f.queue.Released(1, 0)
	require.True(t, f.queue.Owes(Heard{}))
	require.True(t, f.queue.GoesOn(0, time.Millisecond))
	require.False(t, f.queue.Owes(Heard{}))
	require.False(t, f.queue.GoesOn(0, runShort))
	require.True(t, f.queue.Owes(Heard{}))
}

func TestADebtIsRememberedForAPause(t *testing.T) {
	var q Queue
	require.False(t, q.Remembers(0))
	q.Remember(time.Hour)
	require.True(t, q.Remembers(time.Hour+RunPause-1))
	require.False(t, q.Remembers(time.Hour+RunPause))
	q.Forget()
	require.False(t, q.Remembers(time.Hour))
}

// A count that was read before another one pays nothing, whichever is told first.
func TestAnOlderCountPaysNothing(t *testing.T) {
	require.Zero(t, heard(3).since(heard(5)))
}
