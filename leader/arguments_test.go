package leader_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// An election that nothing can come of says so in each of its calls, and names the argument (defect G8): it neither
// panics, nor makes two leaders, nor repeats its error for ever.
func TestElectionsThatCannotBe(t *testing.T) {
	client := holdfasttest.New(t).Client(nil)
	good := rlock.New(client, "leader")
	for name, c := range map[string]struct {
		election *leader.Election
		argument string
	}{
		"no lock":                  {leader.New(nil), "lock"},
		"a zero lock":              {leader.New(new(rlock.Lock)), "lock"},
		"no election":              {nil, "election"},
		"a zero election":          {new(leader.Election), "election"},
		"a negative period":        {leader.New(good, leader.ObserveEvery(-1)), "ObserveEvery"},
		"a value that is too long": {leader.New(good, leader.Value(string(make([]byte, 5000)))), "value"},
		"a lock that many hold":    {leader.New(rwlock.New(client, "leader").Read()), "lock"},
	} {
		t.Run(name, func(t *testing.T) {
			e, ctx := c.election, t.Context()
			refused := func(err error) {
				t.Helper()
				var bad *rlock.ArgumentError
				require.ErrorAs(t, err, &bad)
				require.Equal(t, c.argument, bad.Name)
			}
			term, resign, err := e.Campaign(ctx)
			refused(err)
			require.Equal(t, ctx, term)
			require.ErrorIs(t, resign(), rlock.ErrNotHeld)
			refused(e.Run(ctx, func(context.Context) error { panic("it leads") }))
			_, err = e.Term(ctx)
			refused(err)
			refused(e.Proclaim(ctx, "a:1"))
			_, err = e.Current(ctx)
			refused(err)
			said := 0
			for _, err := range e.Observe(ctx) {
				refused(err)
				said++
			}
			require.Equal(t, 1, said, "it is told once")
			require.NotPanics(t, func() { _, _ = e.Name(), e.Err() })
		})
	}
}

// Calls without a context, or without work, say so.
func TestCallsOfAnElectionWithoutAContext(t *testing.T) {
	e := leader.New(rlock.New(holdfasttest.New(t).Client(nil), "leader"))
	var none context.Context
	refused := func(err error, argument string) {
		t.Helper()
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, argument, bad.Name)
	}
	_, _, err := e.Campaign(none)
	refused(err, "ctx")
	refused(e.Run(none, func(context.Context) error { return nil }), "ctx")
	refused(e.Run(t.Context(), nil), "fn")
	for _, err := range e.Observe(none) {
		refused(err, "ctx")
	}
}

// Zero is the default, as everywhere (defect G8): a second, and not as often as the processor can.
func TestObserveEveryZeroIsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := holdfasttest.New(t).Client(nil)
		e := leader.New(fairlock.New(client, "leader"), leader.ObserveEvery(0))
		require.NoError(t, client.Close())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		asked := 0
		for _, err := range e.Observe(ctx) {
			require.ErrorIs(t, err, rlock.ErrClosed)
			asked++
		}
		require.Greater(t, asked, 5)
		require.Less(t, asked, 22)
	})
}
