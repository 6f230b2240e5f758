package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lua"
)

// arrives registers waiters of a client that has no others.
func (p *fairPlace) arrives(places ...lua.Place) lua.EnqueueReply {
	p.place.t.Helper()
	return run(p.place, lua.FairEnqueue(p.f, p.t, never, places, true))
}

// A client is alive with its first registration: the release that comes before any of its waiters has asked
// invites the first of them, and one that came later has to wait (defect B1).
func TestFairLockLivesFromItsFirstRegistration(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		tickets := p.arrives(lua.Place{ID: bob}, lua.Place{ID: bob2}).Tickets
		p.same(func() { p.arrives(lua.Place{ID: bob}, lua.Place{ID: bob2}) })
		last := p.waits(carol, 0)
		heard := p.hear(bob, carol)
		require.Equal(t, bob, p.done(alice))
		require.Equal(t, []string{bob}, heard())
		p.enters(bob, tickets[0])
		require.Equal(t, bob2, p.done(bob))
		p.enters(bob2, tickets[1])
		require.Equal(t, carol, p.done(bob2))
		p.enters(carol, last)
		require.Empty(t, p.done(carol))
		p.idle()
	})
}

// Where nobody is alive but by its registration, whoever comes to the free lock gets it at once, and nothing
// is left of those who leave (defect B1).
func TestFairLockFirstRegistrationLeavesNothing(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		ticket := p.arrives(lua.Place{ID: bob}).Tickets[0]
		p.enters(bob, ticket)
		require.Empty(t, p.done(bob))
		p.idle()
		p.enters(alice, 0)
		p.arrives(lua.Place{ID: bob})
		require.Equal(t, lua.Gone, p.leaves(bob).Status)
		require.Empty(t, p.done(alice))
		p.idle()
	})
}

// A client that others have given up learns of it though one more of its waiters is registered meanwhile
// (defect B1): that one is not the first.
func TestFairLockALaterRegistrationHidesNoLapse(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		ticket := p.waits(bob, 0)
		p.dies(bob)
		p.enqueue(lua.Place{ID: bob2})
		require.True(t, p.ask(bob, ticket).Lapsed)
	})
}
