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
	{"TermsNest", Notes | Knowledge | Exclusion, termsNest},
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

// A campaign within a term leaves what the leader says of itself, unless it has something to say; and that goes with
// it, in whichever order the terms are resigned (defect G63).
func termsNest(t *testing.T, lab Lab) {
	n, ctx := name(t), within(t)
	outer := leader.New(own(t, lab, 0, n), leader.Value("outer"))
	silent, inner := leader.New(own(t, lab, 0, n)), leader.New(own(t, lab, 0, n), leader.Value("inner"))
	other := leader.New(own(t, lab, 1, n))
	says := func(want, when string) {
		t.Helper()
		told, err := other.Current(ctx)
		require.NoError(t, err)
		require.Equal(t, want, told.Value, when)
	}
	term, resign, err := outer.Campaign(ctx)
	require.NoError(t, err)
	_, resignSilent, err := silent.Campaign(term)
	require.NoError(t, err)
	says("outer", "beside one that says nothing")
	require.NoError(t, resignSilent())
	says("outer", "after one that said nothing")

	within, resignInner, err := inner.Campaign(term)
	require.NoError(t, err)
	says("inner", "within")
	require.NoError(t, inner.Proclaim(within, "still inner"))
	says("still inner", "within")
	require.NoError(t, resignInner())
	says("outer", "what the inner one said goes with it")
	require.ErrorIs(t, resignInner(), lock.ErrNotHeld)
	says("outer", "one that was resigned says no more")

	limited, cancel := context.WithCancel(term)
	_, resignInner, err = inner.Campaign(limited)
	require.NoError(t, err)
	cancel()
	require.NoError(t, resignInner())
	says("outer", "also if its context has ended")

	_, resignInner, err = inner.Campaign(term)
	require.NoError(t, err)
	require.NoError(t, outer.Proclaim(term, "later"))
	says("later", "the last word counts")
	require.NoError(t, resign())
	says("inner", "the outer one is resigned first")
	require.NoError(t, resignInner())
	_, err = other.Current(ctx)
	require.ErrorIs(t, err, leader.ErrNoLeader)
	termsNestInALock(t, lab, inner, other)
}

// termsNestInALock: a lock that is no term says nothing, and so after a term within it all is as it was.
func termsNestInALock(t *testing.T, lab Lab, inner, other *leader.Election) {
	ctx := within(t)
	held, unlock, err := own(t, lab, 0, inner.Name()).Lock(ctx)
	require.NoError(t, err)
	before, none := other.Current(ctx)
	_, resign, err := inner.Campaign(held)
	require.NoError(t, err)
	told, err := other.Current(ctx)
	require.NoError(t, err)
	require.Equal(t, "inner", told.Value)
	require.NoError(t, resign())
	told, err = other.Current(ctx)
	require.Equal(t, none == nil, err == nil)
	require.Equal(t, before.Value, told.Value)
	require.NoError(t, unlock())
}
