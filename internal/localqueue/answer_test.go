package localqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// permits are of a kind of which several waiters ask at a time: they exclude nothing, and a refused waiter goes first.
type permit struct{}

func (permit) Mode() string         { return "p" }
func (permit) Excludes(string) bool { return false }
func (permit) Follows(string) bool  { return true }
func (permit) Inherits(string) bool { return false }

func (f *floor) permits(who ...string) {
	for _, name := range who {
		w := &Waiter{Caller: Caller{Kind: permit{}, Several: true}}
		f.waiters[name] = w
		f.queue.Enter(w)
	}
}

// refused has Redis refuse one that asks, and reports whether it has to wait then.
func (f *floor) refused(name string) bool {
	f.queue.Busy(f.waiters[name])
	return f.queue.StepBack(f.waiters[name])
}

// Nobody stands behind a request that was not refused.
func TestSeveralAskUntilOneIsRefused(t *testing.T) {
	f := newFloor(t)
	f.permits("p1", "p2", "p3")
	f.asking("p1", "p2", "p3")
	require.False(t, f.refused("p2"))
	f.permits("p4")
	f.asking("p1", "p2", "p3") // p4 stands behind p2
	require.False(t, f.queue.Try(&Waiter{Caller: Caller{Kind: permit{}, Several: true}}))
	f.queue.Win(f.waiters["p3"])
	f.asking("p1", "p2")
	f.queue.Win(f.waiters["p2"])
	f.asking("p1", "p4")
	f.leave("p1")
	f.leave("p4")
	f.empty()
}

// Of those that were all refused, the first goes on asking, whichever answer came first.
func TestTheFirstThatWasRefusedGoesOnAsking(t *testing.T) {
	f := newFloor(t)
	f.permits("p1", "p2", "p3")
	require.False(t, f.refused("p3"))
	require.False(t, f.refused("p1"))
	require.True(t, f.waiters["p3"].Behind(), "it was the first")
	require.True(t, f.refused("p2"))
	f.asking("p1")
	require.False(t, f.queue.StepBack(f.waiters["p2"]), "it waits already")
	f.queue.Win(f.waiters["p1"])
	f.asking("p2")
	<-f.waiters["p2"].Changed()
	require.True(t, f.waiters["p2"].HasWaited())
	f.leave("p2")
	f.asking("p3")
	f.leave("p3")
	f.empty()
}

// All that were refused step back behind the first, though each of them is told by itself.
func TestAllStepBackBehindTheFirst(t *testing.T) {
	f := newFloor(t)
	f.permits("p1", "p2", "p3")
	require.False(t, f.refused("p3"))
	f.queue.Busy(f.waiters["p2"]) // which is about to look who asks for it
	require.False(t, f.refused("p1"))
	f.asking("p1")
	require.False(t, f.queue.StepBack(f.waiters["p2"]))
	require.True(t, f.waiters["p2"].Behind())
}

// One answer serves all that only wanted that, and were waiting when it was asked for; others wait on.
func TestAnAnswerIsShared(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	for i, manner := range []Manner{Looks, Plain, Looks, Looks} {
		f.enter(fmt.Sprint("w", i+2), &Waiter{Caller: Caller{Manner: manner, Since: time.Duration(i)}})
	}
	f.queue.Win(f.waiters["w1"]) // which leaves no hold
	f.asking("w2")
	var served []*Waiter
	f.queue.AnswerAll(2, func(w *Waiter) { served = append(served, w) })
	require.Equal(t, []*Waiter{f.waiters["w4"]}, served, "of those that wait")
	f.asking("w2")
	f.leave("w2")
	f.leave("w3")
	f.asking("w5")
}
