package localqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// side is one side of a lock: "w" excludes everybody, "r" goes together with "r".
type side string

func (p side) Mode() string              { return string(p) }
func (p side) Excludes(held string) bool { return p == "w" || held == "w" }
func (p side) Follows(ahead string) bool { return p == "w" || ahead == "w" }
func (p side) Inherits(held string) bool { return p == "w" && held == "w" }

// floor is one queue, with its waiters and holds by their names, which begin with their mode.
type floor struct {
	t       *testing.T
	queue   Queue
	now     time.Duration
	waiters map[string]*Waiter
	holds   map[string]bool
}

func newFloor(t *testing.T) *floor {
	return &floor{t: t, waiters: make(map[string]*Waiter), holds: make(map[string]bool)}
}

// come has waiters enter.
func (f *floor) come(who ...string) {
	for _, name := range who {
		f.enter(name, &Waiter{})
	}
}

func (f *floor) enter(name string, w *Waiter) {
	w.Kind, w.ID = side(name[:1]), "id-"+name
	f.waiters[name] = w
	f.queue.Enter(w)
}

// win has one that asks come to its hold through Redis.
func (f *floor) win(name string) {
	f.t.Helper()
	f.state(name, Asking)
	f.holds[name] = true
	f.queue.Hold(name[:1])
	f.queue.Say(Said{Spoke: true})
	f.queue.Win(f.waiters[name])
}

// next is the waiter that a hold passes to.
func (f *floor) next(from string) (*Waiter, bool) { return f.queue.Next(from[:1], nil, f.now) }

// pass passes a hold to the waiter that is next.
func (f *floor) pass(from, to string) {
	f.t.Helper()
	w, runOver := f.next(from)
	require.False(f.t, runOver)
	require.Same(f.t, f.waiters[to], w)
	delete(f.holds, from)
	f.holds[to] = true
	f.queue.Unhold(from[:1])
	f.queue.Hold(to[:1])
	f.queue.Grant(w, nil, f.now)
}

// drop ends a hold, if it lives.
func (f *floor) drop(name string, others int) {
	if f.holds[name] {
		delete(f.holds, name)
		f.queue.Unhold(name[:1])
		f.queue.Released(others, f.now)
	}
}

func (f *floor) leave(name string) Remains { return f.queue.Leave(f.waiters[name]) }

func (f *floor) state(name string, want State) {
	f.t.Helper()
	require.Equal(f.t, want, f.waiters[name].state, "the state of %s", name)
}

// asking asserts who may ask Redis, of all that ever came.
func (f *floor) asking(who ...string) {
	f.t.Helper()
	var ask []string
	for name, w := range f.waiters {
		if w.state == Asking {
			ask = append(ask, name)
		}
	}
	require.ElementsMatch(f.t, who, ask)
}

// empty asserts that the queue can be dropped, and nothing of it is lost.
func (f *floor) empty() {
	f.t.Helper()
	require.True(f.t, f.queue.Empty())
	require.Nil(f.t, f.queue.last)
	require.Zero(f.t, f.queue.blocking)
	require.Zero(f.t, f.queue.Forget(), "no holds")
}
