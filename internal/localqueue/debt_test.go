package localqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// afterRun is a process that has come to the end of a run, of which so many others heard: w2 asks, w3 waits.
func afterRun(t *testing.T, others int, heard Heard) *floor {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2", "w3")
	f.queue.RunEnds(heard)
	f.drop("w1", others)
	f.asking("w2")
	return f
}

// heard is a subscription's count after so many messages.
func heard(messages uint64) Heard { return Heard{Subscription: 5, Messages: messages} }

// The numbers of the example in debt's comment: A, which tells, and B, C and D, which crashed.
func TestTheExampleOfADebt(t *testing.T) {
	f := newFloor(t)
	is := func(owes, absent, others int) {
		t.Helper()
		require.Equal(t, []int{owes, absent, others},
			[]int{f.queue.debt.owes, f.queue.debt.absent, f.queue.debt.others})
	}
	f.come("w1", "w2", "w3", "w4")
	f.win("w1")
	messages := uint64(0)
	ends := func(who string) {
		f.queue.RunEnds(heard(messages))
		f.drop(who, 3)
	}
	hears := func(owes bool) {
		t.Helper()
		messages++
		require.Equal(t, owes, f.queue.Owes(heard(messages)))
	}
	ends("w1")
	is(4, 0, 3)
	for range 3 { // A's own, B's, C's
		hears(true)
	}
	is(1, 0, 3)
	f.win("w2") // its patience with D ended
	ends("w2")
	is(3, 1, 2)
	hears(true)
	hears(true)
	hears(false)
	f.win("w3")
	ends("w3")
	is(4, 0, 3)
}

// A process that is not subscribed as it releases gets no message of its own, so none is taken off for that.
func TestAnUnsubscribedProcessHasNoMessageOfItsOwn(t *testing.T) {
	f := afterRun(t, 1, Heard{})
	require.True(t, f.queue.Owes(heard(3)), "it counts from here on")
	require.False(t, f.queue.Owes(heard(4)))
}

// What was heard under another subscription says nothing about how many were missed: those from then on
// count, and until then patience ends every wait.
func TestACountThatRestartedPaysNothingByItself(t *testing.T) {
	f := afterRun(t, 1, heard(3))
	other := Heard{Subscription: 6, Messages: 100}
	require.True(t, f.queue.Owes(other))
	other.Messages++
	require.True(t, f.queue.Owes(other))
	require.True(t, f.queue.Owes(other), "looking pays nothing")
	require.True(t, f.queue.Owes(Heard{}), "nor does a subscription that ended")
	other.Messages += 7
	require.True(t, f.queue.Owes(other), "nor what came while there was none")
	other.Messages++
	require.False(t, f.queue.Owes(other))
}

// Counts of different subscriptions cannot be compared, nor that of none with any.
func TestMessagesAreOfOneSubscription(t *testing.T) {
	before, after, none := Heard{1, 7}, Heard{2, 9}, Heard{}
	for _, pair := range [][2]Heard{{after, before}, {after, none}, {none, before}, {none, none}} {
		require.Zero(t, pair[0].since(pair[1]))
	}
	require.Equal(t, 3, Heard{1, 10}.since(before))
}

// However many heard, the debt is bounded.
func TestADebtIsBounded(t *testing.T) {
	f := afterRun(t, 1000, heard(1))
	require.True(t, f.queue.Owes(heard(1+maxOwed)), "and its own")
	require.False(t, f.queue.Owes(heard(2+maxOwed)))
}

// Patience may end just as the one that holds for long releases: it was there, so nobody is absent.
func TestAReleaseOnItsWayShowsThatSomebodyCame(t *testing.T) {
	f := afterRun(t, 7, heard(0))
	require.True(t, f.queue.Owes(heard(1)), "our own")
	f.win("w2")
	f.queue.RunEnds(heard(2))
	f.drop("w2", 7)
	require.Equal(t, 7, f.queue.debt.others)
}

// How long runs are, and who is absent, is forgotten with the queue.
func TestTheQueueForgetsWhoTookTurns(t *testing.T) {
	f := afterRun(t, 8, Heard{})
	require.Equal(t, 8, f.queue.debt.others)
	f.leave("w2")
	f.leave("w3")
	f.empty()
	require.Equal(t, Queue{holds: f.queue.holds}, f.queue)
}

// again has the process that asks hold, and end a run of which so many others heard. Its debt was paid
// before it began, or it was not.
func (f *floor) again(who, next string, paid bool, others int) {
	f.t.Helper()
	if paid {
		f.queue.debt.owes = 0
	}
	f.win(who)
	f.come(next)
	f.queue.RunEnds(Heard{})
	f.drop(who, others)
}

// A subscription lingers where nobody waits any more. Such a process is not waited for every time, and
// not forgotten; and one is always owed a turn, which is the only way in for one that is slow.
func TestAProcessThatDoesNotComeIsWaitedForEveryOtherTime(t *testing.T) {
	for name, c := range map[string]struct {
		paid   []bool
		others []int // who is owed a turn at the end of the runs that follow
	}{
		"all come":                    {[]bool{true, true, true}, []int{7, 7, 7}},
		"nobody comes":                {[]bool{false, false, false}, []int{1, 1, 1}},
		"those that come are too few": {[]bool{false, true, false, true}, []int{1, 7, 1, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			f := afterRun(t, 7, Heard{})
			f.now = time.Minute
			for i, paid := range c.paid {
				f.again(fmt.Sprint("w", i+2), fmt.Sprint("w", i+4), paid, 7)
				require.Equal(t, c.others[i], f.queue.debt.others, "run %d", i)
				require.Equal(t, c.others[i], f.queue.debt.owes)
				require.Equal(t, f.now+RunPause, f.queue.OutUntil())
			}
		})
	}
}
