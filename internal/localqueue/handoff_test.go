package localqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Interleaving 16: the states of a hand-off's target.
func TestOffer(t *testing.T) {
	errNoReplica := errors.New("too few replicas")
	for name, settle := range map[string]func(f *floor, w *Waiter){
		"granted": func(f *floor, w *Waiter) {
			require.True(f.t, f.grant("w1", "w2", w, false))
			f.state("w2", Granted)
			f.asking()
			f.drop("w2", 0)
			f.asking("w3")
		},
		"refused by Redis": func(f *floor, w *Waiter) {
			f.queue.Recall(w, w.ID)
			f.state("w2", Waiting)
			f.asking()
			f.drop("w1", 0)
			f.asking("w2")
			require.Equal(f.t, "id-w2", w.ID)
		},
		"unsettled: it goes on under another id": func(f *floor, w *Waiter) {
			f.queue.Recall(w, "fresh")
			f.drop("w1", 0)
			f.asking("w2")
			require.Equal(f.t, "fresh", w.ID)
		},
		"refused for good": func(f *floor, w *Waiter) {
			f.queue.Reject(w, errNoReplica)
			_, err := w.Look()
			require.Equal(f.t, errNoReplica, err)
			f.drop("w1", 0)
			require.Zero(f.t, f.leave("w2"))
			f.asking("w3")
		},
		"the target leaves before the grant": func(f *floor, w *Waiter) {
			require.Zero(f.t, f.leave("w2"))
			require.True(f.t, w.Deserted())
			f.asking()
			require.False(f.t, f.grant("w1", "w2", w, false), "to be passed on")
			next, _ := f.offer("w2")
			require.Same(f.t, f.waiters["w3"], next)
			require.True(f.t, f.grant("w2", "w3", next, false))
			f.drop("w3", 0)
		},
		"the target leaves after the grant": func(f *floor, w *Waiter) {
			require.True(f.t, f.grant("w1", "w2", w, false))
			require.Equal(f.t, Remains{Hold: true}, f.leave("w2"), "the leaver passes it on")
			f.drop("w2", 0)
			f.asking("w3")
		},
		"the target leaves, and Redis refuses": func(f *floor, w *Waiter) {
			f.leave("w2")
			f.queue.Recall(w, "fresh")
			f.state("w2", Deserted)
			f.drop("w1", 0)
			f.asking("w3")
		},
		"the target leaves, and the hand-off fails for good": func(f *floor, w *Waiter) {
			f.leave("w2")
			f.queue.Reject(w, errNoReplica)
			f.state("w2", Deserted)
			f.drop("w1", 0)
			f.asking("w3")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.come("w2", "w3")
			f.win("w1")
			w, runOver := f.offer("w1")
			require.False(t, runOver)
			require.Same(t, f.waiters["w2"], w)
			f.state("w2", Offered)
			f.asking() // nobody overtakes an offer
			again, _ := f.offer("w1")
			require.Nil(t, again, "it is offered once")
			settle(f, w)
			for name := range f.holds {
				f.drop(name, 0)
			}
			for name := range f.waiters {
				f.leave(name)
			}
			f.empty()
		})
	}
}

// A hold is offered only to one that can have it as it is, with nobody else in the way.
func TestAnOfferIsForTheFirstInTheQueueAlone(t *testing.T) {
	f := newFloor(t)
	f.come("r1", "r2")
	f.win("r1")
	f.win("r2")
	f.come("w1")
	w, _ := f.offer("r1")
	require.Nil(t, w, "the other reader stays, and a reader's hold makes no writer's")
	f.drop("r1", 0)
	f.drop("r2", 0)
	f.win("w1")
	f.come("r3", "w2")
	w, _ = f.offer("w1")
	require.Nil(t, w, "the writer behind the reader does not overtake it")
	f.drop("w1", 0)
	f.asking("r3")
}

// Nobody overtakes an offer, even if the hold is not there any more: its target has the turn, or asks first.
func TestNobodyOvertakesAnOffer(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2", "w3")
	w, _ := f.offer("w1")
	f.drop("w1", 0)
	f.asking()
	f.queue.Recall(w, "fresh")
	f.queue.Released(0, f.now)
	f.asking("w2")
}

// A read inside a write is a second hold: the writer's is not offered while it lives.
func TestNothingIsOfferedWhileAnotherHoldIsInTheWay(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.enter("r inside", &Waiter{Inside: true})
	f.win("r inside")
	f.come("w2")
	w, runOver := f.offer("w1")
	require.Nil(t, w)
	require.False(t, runOver)
	f.drop("r inside", 0)
	w, _ = f.offer("w1")
	require.Same(t, f.waiters["w2"], w)
}

// A waiter that wants other keys as well takes no hold of one, and nobody behind it is served first.
func TestASetInheritsNothing(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.enter("w set", &Waiter{Set: true})
	f.come("w2")
	w, runOver := f.offer("w1")
	require.Nil(t, w)
	require.False(t, runOver)
	require.Nil(t, f.queue.Heir("w"))
	f.drop("w1", 0)
	f.asking("w set")
}

// One answer serves all that only wanted that, and were waiting when it was asked for; others wait on.
func TestAnAnswerIsShared(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	for i, name := range []string{"w2", "w3", "w4", "w5"} {
		f.enter(name, &Waiter{Shared: i != 1, Since: time.Duration(i)})
	}
	f.queue.Win(f.waiters["w1"]) // which leaves no hold
	f.asking("w2")
	var served []*Waiter
	f.queue.Share(2, func(w *Waiter) { served = append(served, w) })
	require.Equal(t, []*Waiter{f.waiters["w4"]}, served, "of those that wait")
	f.asking("w2")
	f.leave("w2")
	f.leave("w3")
	f.asking("w5")
}
