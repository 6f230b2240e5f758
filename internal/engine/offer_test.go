package engine

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Interleaving 16: the places of a hand-off's target.
func TestOffer(t *testing.T) {
	errNoReplica := errors.New("too few replicas")
	for name, settle := range map[string]func(f *floor, w *waiter){
		"granted": func(f *floor, w *waiter) {
			require.True(f.t, f.table.grant(f.holds["w1"], w, f.hold("w2")))
			at, h, _ := f.table.look(w)
			require.Equal(f.t, granted, at)
			require.Same(f.t, f.holds["w2"], h)
			f.leading()
			f.drop("w2")
			f.leading("w3")
		},
		"refused by Redis": func(f *floor, w *waiter) {
			f.table.recall(w, w.id)
			f.stand("w2", queued)
			f.leading()
			f.drop("w1")
			f.leading("w2")
			require.Equal(f.t, "id-w2", w.id)
		},
		"unsettled: it goes on under another id": func(f *floor, w *waiter) {
			f.table.recall(w, "fresh")
			f.drop("w1")
			f.leading("w2")
			require.Equal(f.t, "fresh", w.id)
		},
		"refused for good": func(f *floor, w *waiter) {
			f.table.reject(w, errNoReplica)
			_, _, err := f.table.look(w)
			require.Equal(f.t, errNoReplica, err)
			f.drop("w1")
			require.Nil(f.t, f.table.leave(w))
			f.leading("w3")
		},
		"the target leaves before the grant": func(f *floor, w *waiter) {
			require.Nil(f.t, f.table.leave(w))
			f.leading()
			require.False(f.t, f.table.grant(f.holds["w1"], w, f.hold("w2")), "to be passed on")
			next, _ := f.table.offer(f.holds["w2"])
			require.Same(f.t, f.waiters["w3"], next)
			require.True(f.t, f.table.grant(f.holds["w2"], next, f.hold("w3")))
			f.drop("w3")
		},
		"the target leaves after the grant": func(f *floor, w *waiter) {
			require.True(f.t, f.table.grant(f.holds["w1"], w, f.hold("w2")))
			require.Same(f.t, f.holds["w2"], f.table.leave(w), "the leaver passes it on")
			f.drop("w2")
			f.leading("w3")
		},
		"the target leaves, and Redis refuses": func(f *floor, w *waiter) {
			f.table.leave(w)
			f.table.recall(w, "fresh")
			f.stand("w2", deserted)
			f.drop("w1")
			f.leading("w3")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.come("w2", "w3")
			f.win("w1")
			w, runOver := f.table.offer(f.holds["w1"])
			require.False(t, runOver)
			require.Same(t, f.waiters["w2"], w)
			f.stand("w2", offered)
			f.leading() // nobody overtakes an offer
			again, _ := f.table.offer(f.holds["w1"])
			require.Nil(t, again, "it is offered once")
			settle(f, w)
			for _, h := range f.holds {
				f.table.drop(h, 0)
			}
			for _, w := range f.waiters {
				f.table.leave(w)
			}
			f.empty()
		})
	}
}

// A hold is offered only to one that can have it as it is, with nobody else in the way.
func TestOfferIsForTheFirstInLineAlone(t *testing.T) {
	f := newFloor(t)
	f.come("r1", "r2")
	f.win("r1")
	f.win("r2")
	f.come("w1")
	w, _ := f.table.offer(f.holds["r1"])
	require.Nil(t, w, "the other reader stays, and a reader's hold makes no writer's")
	f.drop("r1")
	f.drop("r2")
	f.win("w1")
	f.come("r3", "w2")
	w, _ = f.table.offer(f.holds["w1"])
	require.Nil(t, w, "the writer behind the reader does not overtake it")
	f.drop("w1")
	f.leading("r3")
}

// G8, G12: a run of hand-offs ends by its count while others wait all the time.
func TestRunOfHandOffsEndsByCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where a run takes no time
		f := newFloor(t)
		f.come("w0")
		for i := range runCount + 1 {
			f.come(fmt.Sprintf("w%d", i+1))
		}
		f.win("w0")
		for i := range runCount {
			from, to := fmt.Sprintf("w%d", i), fmt.Sprintf("w%d", i+1)
			w, runOver := f.table.offer(f.holds[from])
			require.False(t, runOver)
			require.Same(t, f.waiters[to], w)
			require.True(t, f.table.grant(f.holds[from], w, f.hold(to)))
		}
		last := f.holds[fmt.Sprintf("w%d", runCount)]
		w, runOver := f.table.offer(last)
		require.Nil(t, w)
		require.True(t, runOver)
		f.table.drop(last, 1)
		next := fmt.Sprintf("w%d", runCount+1)
		require.Equal(t, f.engine.clock.Now()+runPause, f.table.outUntil("k"), "it stays out")
		f.win(next) // and a new run begins when the name was taken through Redis
		f.come("w")
		w, _ = f.table.offer(f.holds[next])
		require.Same(t, f.waiters["w"], w)
	})
}

// The run's time counts from its first hand-off, which is always granted, also if the name was taken
// long ago: with long sections every other turn is a real release.
func TestRunOfHandOffsEndsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		time.Sleep(time.Hour) // the process is older than any run
		f.come("w0")
		f.win("w0")
		time.Sleep(2 * runTime)
		f.come("w1", "w2", "w3")
		for i, c := range []struct {
			held    time.Duration
			runOver bool
		}{{0, false}, {runTime - 1, false}, {1, true}} {
			time.Sleep(c.held)
			w, runOver := f.table.offer(f.holds[fmt.Sprintf("w%d", i)])
			require.Equal(t, c.runOver, runOver)
			if !runOver {
				to := fmt.Sprintf("w%d", i+1)
				require.True(t, f.table.grant(f.holds[fmt.Sprintf("w%d", i)], w, f.hold(to)))
			}
		}
	})
}

// G12: the bound of a run holds also where, at times, nobody stands in line and somebody else looks in.
func TestRunOfHandOffsIsNotForgotten(t *testing.T) {
	for name, lookIn := range map[string]func(f *floor){
		"nobody waits for a moment": func(*floor) {},
		"a TryLock fails": func(f *floor) {
			w := &waiter{req: Request{Proto: side{mode: "w", key: "k"}}}
			require.False(f.t, f.table.enter(w, true))
		},
		"a waiter comes and goes": func(f *floor) {
			f.come("w late")
			f.table.leave(f.waiters["w late"])
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFloor(t)
				f.come("w")
				f.win("w")
				from := f.holds["w"]
				for range runCount {
					lookIn(f)
					f.come("w next")
					w, runOver := f.table.offer(from)
					require.False(t, runOver)
					next := f.hold("w next")
					require.True(t, f.table.grant(from, w, next))
					from = next
				}
				lookIn(f)
				f.come("w next")
				_, runOver := f.table.offer(from)
				require.True(t, runOver)
			})
		})
	}
}

// Bug of our own: a hand-off whose reply came after the lease made a hold that the wheel ended before the
// table had it, and that nobody took off the table any more.
func TestAHoldThatWasOverBeforeItWasListedIsInNobodysWay(t *testing.T) {
	for name, list := range map[string]func(f *floor, dead *Hold){
		"handed on": func(f *floor, dead *Hold) {
			w, _ := f.table.offer(f.holds["w1"])
			require.True(f.t, f.table.grant(f.holds["w1"], w, dead))
		},
		"handed on to one who left": func(f *floor, dead *Hold) {
			w, _ := f.table.offer(f.holds["w1"])
			f.table.leave(w)
			require.False(f.t, f.table.grant(f.holds["w1"], w, dead))
		},
		"asked for": func(f *floor, dead *Hold) {
			f.drop("w1")
			f.table.win(f.waiters["w2"], dead)
		},
		"come without waiting": func(f *floor, dead *Hold) {
			f.drop("w1")
			f.table.leave(f.waiters["w2"])
			f.table.add(dead)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.come("w2", "w3")
			f.win("w1")
			dead := f.hold("w2")
			dead.state = over
			f.drop("w2") // in vain
			list(f, dead)
			f.leading("w3")
			f.table.leave(f.waiters["w3"])
			f.empty()
		})
	}
}
