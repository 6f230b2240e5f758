package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/wake"
)

// The time from one run of a process to its next is to be that of two processes, however many there are.
func TestARunIsShorterTheMoreTakeTurns(t *testing.T) {
	for others, want := range map[int]int{0: 64, 1: 64, 2: 64, 3: 26, 4: 20, 7: 11, 8: 10, 9: 10, 100: 10} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := afterRun(t, others, wake.Count{})
				f.line().owes = 0 // all of them had their turn
				f.win("w2")
				from := f.holds["w2"]
				for turn := range want {
					w, runOver := f.table.offer(from)
					require.False(t, runOver, "turn %d", turn)
					f.come("w next")
					next := f.hold(fmt.Sprint("w", turn))
					require.True(t, f.table.grant(from, w, next))
					from = next
				}
				_, runOver := f.table.offer(from)
				require.True(t, runOver)
			})
		})
	}
}

func TestARunOfManyProcessesIsShorterInTimeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := afterRun(t, 8, wake.Count{})
		f.win("w2")
		w, _ := f.table.offer(f.holds["w2"])
		require.True(t, f.table.grant(f.holds["w2"], w, f.hold("w3")))
		f.come("w4")
		time.Sleep(runTime*runLeast/runCount - 1)
		_, runOver := f.table.offer(f.holds["w3"])
		require.False(t, runOver)
		f.table.recall(f.waiters["w4"], "id-w4")
		time.Sleep(time.Nanosecond)
		_, runOver = f.table.offer(f.holds["w3"])
		require.True(t, runOver)
	})
}

// How long runs are, and who is absent, is forgotten with the line.
func TestTheLineForgetsWhoTookTurns(t *testing.T) {
	f := afterRun(t, 8, wake.Count{})
	f.table.leave(f.waiters["w2"])
	f.table.leave(f.waiters["w3"])
	f.empty()
	f.come("w5")
	require.Equal(t, runCount, f.line().run())
}

// again has the leading process hold, and end a run of which so many others heard. Its debt was paid
// before it began, or it was not.
func (f *floor) again(who, next string, paid bool, others int) {
	f.t.Helper()
	if paid {
		f.line().owes = 0
	}
	f.win(who)
	f.come(next)
	f.table.ends(f.holds[who], wake.Count{})
	f.table.drop(f.holds[who], others)
}

// A subscription lingers where nobody waits any more. Such a process is not waited for every time, and
// not forgotten; and one is always owed a turn, which is the only way in for who is slow.
func TestWhoDoesNotComeIsWaitedForEveryOtherTime(t *testing.T) {
	for name, c := range map[string]struct {
		paid   []bool
		others []int // who is owed a turn at the end of the runs that follow
	}{
		"all come":                      {[]bool{true, true, true}, []int{7, 7, 7}},
		"nobody comes":                  {[]bool{false, false, false}, []int{1, 1, 1}},
		"those who come are not enough": {[]bool{false, true, false, true}, []int{1, 7, 1, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			f := afterRun(t, 7, wake.Count{})
			for i, paid := range c.paid {
				f.again(fmt.Sprint("w", i+2), fmt.Sprint("w", i+4), paid, 7)
				require.Equal(t, c.others[i], f.line().others, "run %d", i)
				require.Equal(t, c.others[i], f.line().owes)
			}
		})
	}
}
