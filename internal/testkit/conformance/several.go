package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
)

// several are the cases of what other packages make of these locks.
var several = []contract{
	{"SeveralAreTakenAsOneOrNone", Sets | Tries, takenAsOne},
	{"SetsExcludeOneAnother", Sets | Exclusion, setsExclude},
	{"TheOthersAreToldWhoLeads", Notes | Knowledge | Exclusion, othersAreTold},
}

// own makes a handle of the lab's that other packages can open.
func own(t testing.TB, lab Lab, client int, name string) *lock.Lock {
	t.Helper()
	l, ok := lab.Lock(client, name).(*lock.Lock)
	require.True(t, ok, "a lock that is no *lock.Lock lacks Sets and Notes")
	return l
}

// set makes one lock of several names of a client.
func set(t testing.TB, lab Lab, client int, names ...string) *multilock.Lock {
	t.Helper()
	var members []*lock.Lock
	for _, name := range names {
		members = append(members, own(t, lab, client, name))
	}
	return multilock.New(members)
}

func takenAsOne(t *testing.T, lab Lab) {
	a, b := name(t), name(t)
	both := set(t, lab, 0, a, b)
	held, unlock := take(t, within(t), both)
	for _, member := range []string{a, b} {
		busy(t, lab.Lock(1, member), "each member is held")
		if lab.Lacks&Reentry == 0 {
			_, again := take(t, held, lab.Lock(0, member))
			require.NoError(t, again())
		}
	}
	require.NoError(t, unlock())
	require.ErrorIs(t, context.Cause(held), lock.ErrReleased)
	for _, member := range []string{a, b} {
		soonFree(t, lab.Lock(1, member))
	}

	_, unlock = take(t, within(t), lab.Lock(1, b))
	ctx := within(t)
	same, nothing, err := both.TryLock(ctx)
	only(t, err, lock.ErrBusy)
	refused(t, ctx, same, nothing)
	soonFree(t, lab.Lock(1, a))
	in := make(chan error, 1)
	go func() {
		_, unlock, err := both.Lock(within(t))
		if err == nil {
			err = unlock()
		}
		in <- err
	}()
	soonFree(t, lab.Lock(1, a)) // the waiter may have tried, and holds nothing while it waits
	require.NoError(t, unlock())
	require.NoError(t, await(t, in, "the set is taken when its busy member is free"))
	for _, member := range []string{a, b} {
		soonFree(t, lab.Lock(1, member))
	}
}

// Sets of opposite order that overlap, and single locks beside them. The counters are plain variables, so the race
// detector checks too.
func setsExclude(t *testing.T, lab Lab) {
	const rounds = 5
	a, b, c := name(t), name(t), name(t)
	ctx := within(t)
	inside := map[string]*int{a: new(int), b: new(int), c: new(int)}
	total := 0 // of those who hold b
	var all sync.WaitGroup
	work := func(l lock.Locker, names ...string) {
		all.Go(func() {
			for range rounds {
				err := l.Do(ctx, func(context.Context) error {
					for _, name := range names {
						if *inside[name]++; *inside[name] != 1 {
							t.Errorf("%d owners inside", *inside[name])
						}
					}
					total++
					for _, name := range names {
						*inside[name]--
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work(set(t, lab, 0, a, b), a, b)
	work(set(t, lab, 1, b, a), b, a)
	work(set(t, lab, 1, c, b), c, b)
	work(lab.Lock(0, b), b)
	all.Wait()
	require.Equal(t, 4*rounds, total)
}

func othersAreTold(t *testing.T, lab Lab) {
	n, ctx := name(t), within(t)
	one := leader.New(own(t, lab, 0, n), leader.Value("one"))
	other := leader.New(own(t, lab, 1, n), leader.Value("other"))
	_, err := other.Current(ctx)
	require.ErrorIs(t, err, leader.ErrNoLeader)
	var last int64
	for _, c := range []struct {
		leads, looks *leader.Election
		value        string
	}{{one, other, "one"}, {other, one, "other"}} {
		term, resign, err := c.leads.Campaign(ctx)
		require.NoError(t, err)
		hold, err := c.leads.Term(term)
		require.NoError(t, err)
		told, err := c.looks.Current(ctx)
		require.NoError(t, err)
		require.Equal(t, c.value, told.Value)
		require.Equal(t, hold.Fence, told.Term)
		require.Greater(t, told.Term, last)
		last = told.Term
		require.NoError(t, c.leads.Proclaim(term, "still "+c.value))
		told, err = c.looks.Current(ctx)
		require.NoError(t, err)
		require.Equal(t, "still "+c.value, told.Value)
		require.NoError(t, resign())
		_, err = c.looks.Current(ctx)
		require.ErrorIs(t, err, leader.ErrNoLeader, "after its end")
	}
}
