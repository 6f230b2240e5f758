package localqueue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// enrol has waiters enter for whose kind Redis keeps a queue.
func (f *floor) enrol(who ...string) {
	for _, name := range who {
		f.enter(name, &Waiter{Place: new(Place)})
	}
}

// What an answer gave a waiter is named by its next request, also where Redis keeps no queue: redlock relies on it.
func TestEveryWaiterHasATicket(t *testing.T) {
	f := newFloor(t)
	f.come("w1")
	f.waiters["w1"].SetTicket(3)
	f.queue.Swapped()
	require.False(t, f.queue.Lapse(false))
	require.Equal(t, int64(3), f.waiters["w1"].Ticket())
}

// A waiter that leaves between being picked for a registration and the sending of it is not registered: what it
// left behind was taken back before, and a place that comes into being later would be nobody's.
func TestWhoeverLeavesBeforeItsRegistrationIsNotRegistered(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2", "w3")
	batch := f.queue.Unplaced(100)
	require.Len(t, batch, 2, "those behind the one that asks")
	require.Zero(t, f.leave("w2"))
	still := f.queue.Entrants(batch)
	require.Equal(t, []*Waiter{f.waiters["w3"]}, still)
	require.Empty(t, f.queue.Registered(still, []int64{3}, 0))
}

// A waiter that leaves while it is being registered may have a place when that is answered: its id is told then.
func TestWhoeverLeavesDuringItsRegistration(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2", "w3")
	batch := f.queue.Entrants(f.queue.Unplaced(100))
	f.leave("w2")
	require.Equal(t, []string{"id-w2"}, f.queue.Registered(batch, []int64{2, 3}, 0))
}

// A waiter whose turn comes while it is being registered asks when that is answered, and not before.
func TestAWaiterIsRegisteredBeforeItAsks(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2")
	batch := f.queue.Unplaced(100)
	f.queue.Entrants(batch)
	f.leave("w1")
	<-f.waiters["w2"].Changed()
	state := f.waiters["w2"].Look()
	require.Equal(t, Waiting, state)
	f.queue.Registered(batch, []int64{3}, 0)
	<-f.waiters["w2"].Changed()
	state = f.waiters["w2"].Look()
	require.Equal(t, Asking, state)
	require.Equal(t, int64(3), f.waiters["w2"].Ticket())
}

// There is one registrar. The queue outlives the waiters for its sake: another queue could get a registrar of its own,
// and two registrations of one waiter be under way, of which the first that is answered tells that none is.
func TestThereIsOneRegistrar(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2")
	require.False(t, f.queue.BeginRegistrar(f.waiters["w1"]), "its question registers it")
	require.True(t, f.queue.BeginRegistrar(f.waiters["w2"]))
	f.enrol("w3")
	require.False(t, f.queue.BeginRegistrar(f.waiters["w3"]))
	for _, who := range []string{"w1", "w2", "w3"} {
		f.leave(who)
	}
	require.False(t, f.queue.Empty())
	require.False(t, f.queue.Idle())
	batch := f.queue.Unplaced(100)
	require.Empty(t, batch)
	f.empty()
}

// Those that Redis gave up are registered once more, with their tickets; not those that left, or whose turn came.
func TestRegistrationOnceMore(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2", "w3", "w4")
	for i, who := range []string{"w1", "w2", "w3"} {
		f.waiters[who].SetTicket(int64(i + 1))
	}
	require.True(t, f.queue.Lapse(false), "it is the caller who registers them")
	require.False(t, f.queue.Lapse(false), "there is a registrar")
	f.leave("w3")
	batch := f.queue.Unplaced(100)
	require.Equal(t, []*Waiter{f.waiters["w2"], f.waiters["w4"]}, batch, "w1 asks, and is registered by that")
	f.queue.Entrants(batch)
	f.queue.Registered(batch, []int64{2, 4}, 0)
	require.Empty(t, f.queue.Unplaced(100))
	require.Equal(t, int64(2), f.waiters["w2"].Ticket())
}

// A registration that says that Redis had given up the others has these registered again, and not its own batch; one
// that had no answer may have said so, and has that batch registered again, too.
func TestARegistrationTellsOfALapse(t *testing.T) {
	for _, answered := range []bool{true, false} {
		f := newFloor(t)
		f.enrol("w1", "w2", "w3", "w4")
		f.waiters["w2"].SetTicket(2)
		f.waiters["w3"].SetTicket(3)
		f.waiters["w3"].Place.unsure = true
		require.True(t, f.queue.BeginRegistrar(f.waiters["w4"]))
		batch := f.queue.Unplaced(100)
		require.Equal(t, []*Waiter{f.waiters["w3"], f.waiters["w4"]}, batch)
		f.queue.Entrants(batch)
		require.False(t, f.queue.Lapse(true), "there is a registrar")
		again := []*Waiter{f.waiters["w2"]}
		if answered {
			f.queue.Registered(batch, []int64{3, 4}, 0)
		} else {
			f.queue.Registered(batch, nil, 7)
			again = append(again, batch...)
		}
		require.Equal(t, again, f.queue.Unplaced(100))
	}
}

// What is said of a place while a registration is under way is not undone by its answer, which may be older.
func TestALapseDuringARegistration(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2")
	f.waiters["w2"].SetTicket(2)
	require.True(t, f.queue.Lapse(false))
	batch := f.queue.Unplaced(100)
	f.queue.Entrants(batch)
	f.queue.Lapse(false)
	f.queue.Registered(batch, []int64{2}, 0)
	require.Equal(t, batch, f.queue.Unplaced(100))
}

// A registration that had no answer can be carried out late, also after another one was answered: a waiter that leaves
// then has the entry taken back for as long.
func TestARegistrationWithoutAnAnswerIsNotForgotten(t *testing.T) {
	f := newFloor(t)
	f.enrol("w1", "w2")
	batch := []*Waiter{f.waiters["w2"]}
	f.queue.Entrants(batch)
	f.queue.Registered(batch, nil, 7)
	require.Equal(t, int64(7), f.waiters["w2"].Late())
	f.queue.Entrants(batch)
	f.queue.Registered(batch, []int64{1}, 0)
	require.Equal(t, Remains{ID: "id-w2", Late: 7}, f.leave("w2"))
}
