package conformance

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

// memory are the cases of what a client answers without asking the store: it says what the store would have said.
var memory = []contract{
	{"AProcessIsToldOfItsOwnHoldWhatOthersAreTold", 0, toldAlike},
	{"AWaiterStandsWhereItStoodInAnotherProcess", Listeners, standsAlike},
	{"AWaiterIsSeen", Exclusion | Waiters, waiterIsSeen},
}

// rivals are handles on a name, by their kinds: the lab's own, and the others that it has.
func rivals(lab Lab) map[string]func(client int, name string) Lock {
	all := maps.Clone(lab.Rivals)
	if all == nil {
		all = make(map[string]func(client int, name string) Lock)
	}
	if lab.Lacks&Exclusion == 0 {
		all["the same"] = func(client int, name string) Lock { return lab.Lock(client, name) }
	}
	return all
}

// someRivals skips a case that is about waiting, where nothing waits: the lab has only locks that exclude nothing.
func someRivals(t *testing.T, lab Lab) {
	t.Helper()
	if len(rivals(lab)) == 0 {
		t.Skip("not run: the lab has no kind of lock that waits for another one")
	}
}

// answer is what a call is told, as far as its caller can act on it. What it is granted, it gives back.
func answer(t *testing.T, got turn) string {
	t.Helper()
	var argument *lock.ArgumentError
	switch {
	case got.err == nil:
		require.NoError(t, got.unlock())
		return "granted"
	case errors.Is(got.err, lock.ErrKeyConflict):
		return "conflict"
	case errors.Is(got.err, lock.ErrBusy):
		return "busy"
	case errors.As(got.err, &argument):
		return "argument: " + argument.Name
	default:
		return got.err.Error()
	}
}

// told asks a lock in both ways, and returns what it is told.
func told(t *testing.T, l Lock) (said [2]string) {
	t.Helper()
	said[0] = answer(t, turnOf(l.TryLock(within(t))))
	_ = Answered(func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(within(t), d)
		defer cancel()
		got := turnOf(l.Lock(ctx))
		said[1] = answer(t, got)
		return got.err
	})
	return said
}

// Whatever kind a caller asks for at the name of a hold, it is told the same in the holder's process as elsewhere.
func toldAlike(t *testing.T, lab Lab) {
	someRivals(t, lab)
	for kind, at := range rivals(lab) {
		n := name(t)
		_, unlock := take(t, within(t), lab.Lock(0, n))
		want := told(t, at(1, n))
		require.Equal(t, want, told(t, at(0, n)), "TryLock and Lock of %s, in the holder's process", kind)
		require.NoError(t, unlock())
		soonFree(t, lab.Lock(1, n))
	}
}

// A caller waits behind a hold, in the holder's process or in another one. Another caller, from
// elsewhere, is told the same in both cases.
func standsAlike(t *testing.T, lab Lab) {
	someRivals(t, lab)
	compared := 0
	for waits, waiter := range rivals(lab) {
		for kind, at := range rivals(lab) {
			here, waitedHere := toldBehind(t, lab, 0, waiter, at)
			elsewhere, waitedElsewhere := toldBehind(t, lab, 1, waiter, at)
			require.Equal(t, waitedElsewhere, waitedHere, "%s waits behind a hold", waits)
			require.Equal(t, elsewhere, here, "TryLock and Lock of %s, behind %s in the holder's process", kind, waits)
			if waitedHere {
				compared++
			}
		}
	}
	require.True(t, compared > 0, "nothing ever waited")
}

// toldBehind is what a caller of client 1 is told while one of some client waits behind a hold of client 0. Nothing is
// told if that one has not to wait.
func toldBehind(
	t *testing.T, lab Lab, client int, waiter, asks func(client int, name string) Lock,
) (said [2]string, waited bool) {
	t.Helper()
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	defer func() {
		require.NoError(t, unlock())
		soonFree(t, lab.Lock(1, n))
	}()
	if answer(t, turnOf(waiter(client, n).TryLock(within(t)))) != "busy" {
		return said, false
	}
	ctx, cancel := context.WithCancel(within(t))
	before, over := lab.Stats(client).Waiters, make(chan struct{})
	go func() {
		defer close(over)
		_, _, _ = waiter(client, n).Lock(ctx)
	}()
	defer func() { cancel(); await(t, over, "the waiter gives up") }()
	require.Eventually(t, func() bool { return lab.Stats(client).Waiters > before }, limit, time.Millisecond,
		"nobody waits")
	return told(t, asks(1, n)), true
}

// A waiter is counted by its own client, and by others.
func waiterIsSeen(t *testing.T, lab Lab) {
	n := name(t)
	_, can := lab.Lock(0, n).(inspector)
	require.True(t, can, "a lab whose locks cannot be inspected lacks Waiters")
	_, unlock := take(t, within(t), lab.Lock(0, n))
	waits := make(chan turn, 1)
	go func() { waits <- turnOf(lab.Lock(1, n).Lock(within(t))) }()
	for client := range 2 {
		require.Eventually(t, func() bool {
			info, err := lab.Lock(client, n).(inspector).Inspect(within(t))
			require.NoError(t, err)
			return info.Held == 1 && info.Waiters == 1
		}, limit, 10*time.Millisecond, "client %d does not see it", client)
	}
	require.NoError(t, unlock())
	next := await(t, waits, "it has the lock")
	require.NoError(t, next.err)
	require.NoError(t, next.unlock())
}
