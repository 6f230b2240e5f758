package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// arrives registers waiters of a client that has no others.
func (p *fairPlace) arrives(places ...luacall.Place) luacall.EnqueueReply {
	p.place.t.Helper()
	return run(p.place, luacall.FairEnqueue(p.f, p.t, never, places))
}

// A client is alive with its first registration: the release that comes before any of its waiters has asked
// invites the first of them, and one that came later has to wait (defect B1).
func TestFairLockLivesFromItsFirstRegistration(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		tickets := p.arrives(luacall.Place{ID: bob}, luacall.Place{ID: bob2}).Tickets
		p.same(func() { p.arrives(luacall.Place{ID: bob}, luacall.Place{ID: bob2}) })
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

// Where nobody is alive but by its registration, a client that comes to the free lock gets it at once, and nothing
// is left of those who leave (defect B1).
func TestFairLockFirstRegistrationLeavesNothing(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		ticket := p.arrives(luacall.Place{ID: bob}).Tickets[0]
		p.enters(bob, ticket)
		require.Empty(t, p.done(bob))
		p.idle()
		p.enters(alice, 0)
		p.arrives(luacall.Place{ID: bob})
		require.Equal(t, luacall.Gone, p.leaves(bob).Status)
		require.Empty(t, p.done(alice))
		p.idle()
	})
}

// A client that others have given up learns of it by a registration as well, once; that one brings it back to life.
// So does one of which nobody knew, or all of whose waiters were served before: it cannot tell these apart (defect B1).
func TestFairLockRegistrationTellsOfALapse(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		ticket := p.waits(bob, 0)
		second := p.enqueue(luacall.Place{ID: bob2})
		require.False(t, second.Lapsed)
		p.waits(carol, 0)
		p.dies(bob)
		require.Equal(t, carol, p.done(alice))
		require.Equal(t, []string{carol}, p.queue(), "bob's client is taken for dead")
		require.True(t, p.enqueue(luacall.Place{ID: bob3}).Lapsed)
		require.False(t, p.enqueue(luacall.Place{ID: bob2, Ticket: second.Tickets[0]}).Lapsed)
		require.False(t, p.ask(bob, ticket).Lapsed)
		require.Equal(t, []string{bob, bob2, carol, bob3}, p.queue())
	})
}

// A registration that is read when the last of its client's others was served and the queue is gone makes a waiter
// that lives: the next release invites it.
func TestFairLockRegistrationAfterTheQueueIsGone(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(bob, 0)
		first := p.arrives(luacall.Place{ID: bob2}).Tickets[0]
		require.Empty(t, p.servedBy(bob, bob2))
		p.idle()
		got := p.enqueue(luacall.Place{ID: bob3})
		require.True(t, got.Lapsed)
		require.Greater(t, got.Tickets[0], first)
		require.Equal(t, got.Tickets[0], got.Next)
		require.Equal(t, luacall.Busy, p.try(carol).Status)
		require.Equal(t, bob3, p.invited())
		p.enters(bob3, got.Tickets[0])
		require.Empty(t, p.done(bob3))
		p.idle()
	})
}

// A registration says who of the client stands next, as a claim does.
func TestFairLockRegistrationSaysWhoStandsNext(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		got := p.enqueue(luacall.Place{ID: bob}, luacall.Place{ID: bob2})
		require.Equal(t, got.Tickets[1], got.Next)
		p.waits(carol, 0)
		require.Equal(t, got.Tickets[1], p.enqueue(luacall.Place{ID: bob3}).Next)
		require.Zero(t, p.enqueue(luacall.Place{ID: dave}).Next)
		bob4 := bob3 + "0"
		require.Equal(t, got.Tickets[1], p.enqueue(luacall.Place{ID: bob4}).Next)
		require.Len(t, p.queue(), 6)
		require.Equal(t, bob, p.done(alice))
		p.dies(carol)
		require.Equal(t, bob2, p.done(bob))
		require.Equal(t, bob3, p.done(bob2), "carol is taken for dead")
		require.Zero(t, p.enqueue(luacall.Place{ID: bob4}).Next, "and may come back to an earlier place")
	})
}
