package luacall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// A waiter that leaves, from any place and at any time, leaves nothing behind and keeps nobody waiting (needs 9).
func TestFairLockLeftFromAnyPlace(t *testing.T) {
	everyone := []string{bob, carol, dave}
	for leaver := range everyone {
		for _, when := range []string{"while it is held", "while the first is invited", "when it is free"} {
			t.Run(fmt.Sprint(leaver, " ", when), func(t *testing.T) {
				fairly(t, func(t *testing.T, p *fairPlace) { fairLeave(t, p, everyone, leaver, when) })
			})
		}
	}
}

func fairLeave(t *testing.T, p *fairPlace, everyone []string, leaver int, when string) {
	p.enters(alice, 0)
	tickets := map[string]int64{}
	for _, id := range everyone {
		tickets[id] = p.waits(id, 0)
	}
	heard := p.hear(everyone...)
	var left []string
	for i, id := range everyone {
		if i != leaver {
			left = append(left, id)
		}
	}
	switch when {
	case "while the first is invited":
		require.Equal(t, bob, p.done(alice))
		require.Equal(t, []string{bob}, heard())
	case "when it is free":
		p.expire()
	}
	require.Equal(t, luacall.Gone, maskDone(p.leaves(everyone[leaver]).Status))
	told := heard()
	switch {
	case when == "while it is held":
		require.Empty(t, told)
		require.Equal(t, left[0], p.done(alice))
	case when == "while the first is invited" && leaver > 0:
		require.Empty(t, told)
	default:
		require.Equal(t, []string{left[0]}, told)
	}
	p.same(func() { require.Equal(t, luacall.Gone, p.leaves(everyone[leaver]).Status) })
	require.Equal(t, left[0], p.invited())
	p.enters(left[0], tickets[left[0]])
	require.Equal(t, left[1], p.done(left[0]))
	require.Empty(t, p.done(left[1]), "the last one leaves with an invitation")
	p.idle()
}

// maskDone: who was invited is told "done", who waited "gone"; both are out.
func maskDone(s luacall.Status) luacall.Status {
	if s == luacall.Done {
		return luacall.Gone
	}
	return s
}

func TestFairLockLeftByTheOnlyOne(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		p.waits(bob, 0)
		heard := p.hear(bob)
		p.leaves(bob)
		require.Empty(t, p.queue())
		require.Zero(t, p.rdb.Exists(context.Background(), p.f.Alive, p.f.State).Val())
		require.Empty(t, p.done(alice))
		require.Equal(t, []string{"lock"}, heard())
		p.idle()

		p.enters(alice, 0)
		p.waits(bob, 0)
		p.expire()
		p.leaves(bob)
		p.idle()
	})
}

// A hold that was deleted, or ran out, when nobody stood behind it: its owner's release takes the record away, which
// tells how long the run is.
func TestFairLockLeavesNoRecordOfAHoldThatIsGone(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first := p.waits(bob, 0)
		require.Equal(t, bob, p.done(alice))
		p.enters(bob, first)
		require.Empty(t, p.queue())
		require.NotZero(t, p.rdb.Exists(context.Background(), p.f.State).Val())
		p.leaves(carol) // who has nothing
		require.NotZero(t, p.rdb.Exists(context.Background(), p.f.State).Val(), "the run goes on")
		p.expire()
		p.leaves(bob)
		p.idle()
	})
}

// A release tells the server's time, which proves what can come late.
func TestFairLockReleaseTellsTheTime(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		now := func(id string) int64 {
			return run(p.place, luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: id, WantNow: true})).Now
		}
		before := p.now()
		require.GreaterOrEqual(t, now(alice), before)
		p.enters(alice, 0)
		p.waits(bob, 0)
		p.waits(carol, 0)
		for _, id := range []string{carol, dave, alice, bob} {
			require.GreaterOrEqual(t, now(id), before)
		}
		p.idle()
	})
}

// A nested hold ends whole.
func TestFairLockNestedHoldEndsWhole(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		ticket := p.waits(bob, 0)
		require.EqualValues(t, 2, run(p.place, p.levels(alice, 1, 2)))
		require.Equal(t, luacall.Busy, p.ask(bob, ticket).Status)
		require.Equal(t, bob, p.done(alice))
		p.enters(bob, ticket)
	})
}

// Waiters of clients that are dead cost one look each, however many there are, and are gone then.
func TestFairLockPassesTheDeadBy(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		for i := range 25 {
			for j := range 4 {
				p.waits(fmt.Sprintf("%s-%d:%d", bob[:36], i, j), 0)
			}
		}
		ticket := p.waits(carol, 0)
		for i := range 25 {
			p.dies(fmt.Sprintf("%s-%d:0", bob[:36], i))
		}
		require.Equal(t, carol, p.done(alice))
		require.Equal(t, []string{carol}, p.queue())
		p.enters(carol, ticket)
		require.Empty(t, p.done(carol))
		p.idle()
	})
}

// Of thousands that died the release buries a thousand and does not stop the server for the rest.
func TestFairLockPassesThousandsOfDeadBy(t *testing.T) {
	p := newFairPlace(newPlace(t, startServer(t).Client(t)))
	p.enters(alice, 0)
	p.waits(bob, 0)
	for range 25 {
		var places []luacall.Place
		for range 100 {
			places = append(places, luacall.Place{ID: fmt.Sprintf("%s%d", bob, names.Add(1))})
		}
		p.enqueue(places...)
	}
	ticket := p.waits(carol, 0)
	p.dies(bob)
	require.Empty(t, p.done(alice), "carol is too far behind to be seen")
	p.free()
	got := p.ask(carol, ticket)
	require.Equal(t, luacall.Busy, got.Status)
	require.Zero(t, got.PTTL, "it is to ask again at once")
	p.enters(carol, ticket)
	require.Empty(t, p.done(carol))
	p.idle()
}

// A client that was taken for dead comes back with its old places (bugs 32, 53).
func TestFairLockPlacesComeBack(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first := p.waits(bob, 0)
		others := p.enqueue(luacall.Place{ID: bob2}, luacall.Place{ID: bob3}).Tickets
		require.False(t, p.ask(bob, first).Lapsed)
		second, third := p.waits(carol, 0), p.waits(dave, 0)
		p.dies(bob)
		require.Equal(t, carol, p.done(alice))
		require.Equal(t, []string{carol, dave}, p.queue(), "bob's client is taken for dead")
		p.enters(carol, second)
		back := p.ask(bob, first)
		require.True(t, back.Lapsed)
		require.Equal(t, first, back.Ticket)
		require.Equal(t, others, p.enqueue(
			luacall.Place{ID: bob2, Ticket: others[0]}, luacall.Place{ID: bob3, Ticket: others[1]}).Tickets)
		require.Equal(t, []string{bob, bob2, bob3, dave}, p.queue())
		require.Equal(t, bob, p.done(carol))
		p.enters(bob, first)
		require.Equal(t, bob2, p.done(bob))
		require.NotZero(t, third)
	})
}

// One who comes back to a lock that is free takes it if it was the first.
func TestFairLockFirstComesBackToAFreeLock(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first, second := p.waits(bob, 0), p.waits(carol, 0)
		p.do("ZREM %s %s", p.f.Queue, bob)
		p.expire()
		p.enters(bob, first)
		require.Equal(t, []string{carol}, p.queue())
		p.do("ZREM %s %s", p.f.Queue, carol)
		third := p.waits(dave, 0)
		p.expire()
		require.Equal(t, luacall.Busy, p.ask(carol, third+1).Status, "dave came before")
		require.Equal(t, dave, p.invited())
		require.Less(t, second, third)
	})
}
