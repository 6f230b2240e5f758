package luacall_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

const (
	dave = "6f1d2c1e-dddd-4b6e-8b6f-000000000004:1"
	bob2 = "6f1d2c1e-bbbb-4b6e-8b6f-000000000002:2" // bob's client once more
	bob3 = "6f1d2c1e-bbbb-4b6e-8b6f-000000000002:3"
)

func TestFairLockThatIsFreeIsTaken(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		before := p.now()
		got := p.enters(alice, 0)
		require.GreaterOrEqual(t, got.Now, before)
		require.Equal(t, got.Now, got.Fence, "the first token is the clock")
		require.Equal(t, got.Fence, p.stored())
		require.Zero(t, p.rdb.Exists(context.Background(), p.f.Queue, p.f.Alive, p.f.State).Val(),
			"nobody waits, so there is no queue")
		heard := p.hear(alice, bob)
		require.Empty(t, p.done(alice))
		require.Equal(t, []string{"lock"}, heard())
		p.idle()
	})
}

// Strict order, from one client to the next, with a message to that one alone (needs 9).
func TestFairLockGoesFromOneToTheNext(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		last := p.enters(alice, 0)
		tickets := map[string]int64{}
		for _, id := range []string{bob, carol, dave} {
			got := p.ask(id, 0)
			require.Equal(t, luacall.Busy, got.Status)
			require.True(t, got.Foreign, "alice came when there was no queue")
			tickets[id] = got.Ticket
		}
		require.Less(t, tickets[bob], tickets[carol])
		require.Less(t, tickets[carol], tickets[dave])
		require.Equal(t, []string{bob, carol, dave}, p.queue())
		heard := p.hear(bob, carol, dave)
		for i, id := range []string{bob, carol, dave} {
			from := []string{alice, bob, carol}[i]
			require.Equal(t, id, p.done(from))
			require.Equal(t, []string{id}, heard())
			for _, other := range []string{carol, dave} {
				if other != id && tickets[other] > tickets[id] {
					got := p.ask(other, tickets[other])
					require.Equal(t, luacall.Busy, got.Status)
					require.False(t, got.Foreign)
				}
			}
			got := p.enters(id, tickets[id])
			require.Greater(t, got.Fence, last.Fence)
			last = got
		}
		require.Empty(t, p.done(dave))
		require.Equal(t, []string{"lock"}, heard())
		p.idle()
	})
}

// Only whose turn is next is told the holder's time; the others rely on messages and look now and then.
func TestFairLockOnlyTheNextMindsTheHoldersTime(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		require.InDelta(t, 30*time.Second, p.ask(bob, 0).PTTL, float64(time.Second))
		require.InDelta(t, 30*time.Second, p.ask(bob2, 0).PTTL, float64(time.Second), "the same client")
		require.Equal(t, time.Minute, p.ask(carol, 0).PTTL)
		p.done(alice)
		require.Equal(t, bob, p.invited())
		require.InDelta(t, time.Duration(p.t.Grant)*time.Millisecond, p.ask(bob2, 0).PTTL+time.Second, float64(50*time.Second))
	})
}

// A client that finds the lock free at the turn of another, which lives, invites that one.
func TestFairLockFoundFreeIsGivenToTheFirst(t *testing.T) {
	for name, ask := range map[string]func(p *fairPlace, second int64) luacall.FairReply{
		"by somebody new":   func(p *fairPlace, _ int64) luacall.FairReply { return p.ask(dave, 0) },
		"by the second":     func(p *fairPlace, second int64) luacall.FairReply { return p.ask(carol, second) },
		"by a mere attempt": func(p *fairPlace, _ int64) luacall.FairReply { return p.try(dave) },
	} {
		t.Run(name, func(t *testing.T) {
			fairly(t, func(t *testing.T, p *fairPlace) {
				p.enters(alice, 0)
				first, second := p.waits(bob, 0), p.waits(carol, 0)
				heard := p.hear(bob, carol, dave)
				p.expire()
				require.Equal(t, luacall.Busy, ask(p, second).Status)
				require.Equal(t, bob, p.invited())
				require.Equal(t, []string{bob}, heard())
				p.enters(bob, first)
				require.Equal(t, carol, p.done(bob))
				p.enters(carol, second)
			})
		})
	}
}

func TestFairLockFoundFreeByTheFirstIsTaken(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first, second := p.waits(bob, 0), p.waits(carol, 0)
		p.expire()
		heard := p.hear(bob, carol)
		p.enters(bob, first)
		require.Empty(t, heard())
		require.Equal(t, []string{carol}, p.queue())
		require.Equal(t, carol, p.done(bob))
		p.enters(carol, second)
		require.Empty(t, p.done(carol))
		p.idle()
	})
}

// An invitation is none any more when its time is over: the message may come as late as it likes.
func TestFairLockLapsedInvitationIsWorthNothing(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first, second := p.waits(bob, 0), p.waits(carol, 0)
		require.Equal(t, bob, p.done(alice))
		p.expire()
		got := p.ask(carol, second)
		require.Equal(t, luacall.Held, got.Status, "bob did not come, so it is carol's turn")

		back := p.ask(bob, first)
		require.Equal(t, luacall.Busy, back.Status)
		require.True(t, back.Lapsed, "bob's others are to come back too")
		require.Equal(t, first, back.Ticket, "with the place that it had")
		dave1 := p.waits(dave, 0)
		require.Greater(t, dave1, first)
		require.Equal(t, bob, p.done(carol))
		p.enters(bob, first)
		require.Equal(t, dave, p.done(bob))
	})
}

// The lease of a holder runs out: other waiters of its client are passed over once, whichever way it took the lock, and
// come back to their places when the client is heard of again (defect F10).
func TestFairLockPassesOverTheClientOfAHolderWhoseLeaseRanOut(t *testing.T) {
	for name, take := range map[string]func(p *fairPlace){
		"it was invited": func(p *fairPlace) {
			p.enters(alice, 0)
			p.waits(bob, 0)
			p.waits(bob2, 0)
			require.Equal(p.place.t, bob, p.done(alice))
			p.enters(bob, 0)
		},
		"it found the lock free, and others in the queue": func(p *fairPlace) {
			p.enters(alice, 0)
			p.waits(bob2, 0)
			p.expire()
			p.enters(bob, 0)
		},
		"it found nobody": func(p *fairPlace) {
			p.enters(bob, 0)
			p.waits(bob2, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fairly(t, func(t *testing.T, p *fairPlace) {
				take(p)
				ticket := p.waits(bob2, 0)
				second, third := p.waits(carol, 0), p.waits(dave, 0)
				p.runsOut()
				heard := p.hear(bob, carol, dave)
				require.Equal(t, luacall.Busy, p.ask(dave, third).Status)
				require.Equal(t, []string{carol}, heard())
				p.enters(carol, second)

				back := p.ask(bob2, ticket)
				require.True(t, back.Lapsed, "its others are to come back too")
				require.Equal(t, ticket, back.Ticket)
				require.Equal(t, []string{bob2, dave}, p.queue())
				require.Equal(t, bob2, p.done(carol), "it is passed over once")
			})
		})
	}
}

// A holder that was only stopped for longer than its lease is heard of before anybody else asks: the turn is its
// client's.
func TestFairLockGoesToTheClientOfAHolderWhoseLeaseRanOutIfItAsks(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(bob, 0)
		ticket := p.waits(bob2, 0)
		p.waits(carol, 0)
		p.runsOut()
		p.enters(bob2, ticket)
		require.Equal(t, carol, p.done(bob2))
	})
}

// A client that released the lock is not taken for dead, even if it does not know of the queue.
func TestFairLockPassesNobodyOverAfterARelease(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		run(p.place, p.acquire(bob))
		first, second := p.waits(bob2, 0), p.waits(carol, 0)
		run(p.place, p.release(bob))
		require.Equal(t, luacall.Busy, p.ask(carol, second).Status)
		require.Equal(t, bob2, p.invited())
		p.enters(bob2, first)
	})
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(bob, 0)
		p.waits(carol, 0)
		p.dies(carol)
		require.Empty(t, p.done(bob), "nobody lives")
		p.idle()
	})
}

// The lock went to somebody who does not know of the queue while the invitation lapsed.
func TestFairLockTakenByAStrangerAfterALapse(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first, second := p.waits(bob, 0), p.waits(carol, 0)
		require.Equal(t, bob, p.done(alice))
		p.expire()
		run(p.place, p.acquire(dave)) // the reentrant lock's script
		p.same(func() { require.Equal(t, luacall.Gone, p.leaves(alice).Status) })
		got := p.ask(carol, second)
		require.Equal(t, luacall.Busy, got.Status)
		require.True(t, got.Foreign)
		require.Equal(t, []string{carol}, p.queue(), "bob did not come while it was invited")
		require.Equal(t, first, p.waits(bob, first))
		require.Equal(t, []string{bob, carol}, p.queue())
		run(p.place, p.release(dave))
		p.enters(bob, first)
	})
}

// The order inside a process is the process's: any waiter takes its client's invitation, and the
// one that was invited gets the other's ticket.
func TestFairLockComesToAClient(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		places := p.enqueue(luacall.Place{ID: bob2}).Tickets
		p.waits(carol, 0)
		late := p.waits(bob, 0)
		p.waits(dave, 0)
		require.Equal(t, []string{bob2, carol, bob, dave}, p.queue())
		require.Equal(t, bob2, p.done(alice))
		p.enters(bob, late)
		require.Equal(t, []string{carol, bob2, dave}, p.queue(), "the process has used up one place")
		require.Equal(t, float64(late), p.rdb.ZScore(context.Background(), p.f.Queue, bob2).Val())
		require.Equal(t, late, p.waits(bob2, places[0]), "its place is what stands, not what it remembers")

		require.Equal(t, carol, p.done(bob))
		p.enters(carol, 0)
		require.Equal(t, bob2, p.done(carol))
		p.enters(bob3, 0) // never had a place
		require.Equal(t, []string{dave, bob2}, p.queue(), "so the one that was invited is the last now")
		require.Equal(t, dave, p.done(bob3))
	})
}

// A try leaves nothing behind, and does not pass by those who wait.
func TestFairLockTriedOnce(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		require.Equal(t, luacall.Held, p.try(alice).Status)
		p.same(func() { require.Equal(t, luacall.Busy, p.try(bob).Status) })
		ticket := p.waits(bob, 0)
		p.same(func() {
			got := p.try(carol)
			require.Equal(t, luacall.Busy, got.Status)
			require.Zero(t, got.Ticket)
		})
		require.Equal(t, bob, p.done(alice))
		p.same(func() { require.Equal(t, luacall.Busy, p.try(carol).Status) })
		p.enters(bob, ticket)
		require.Empty(t, p.done(bob))
		p.idle()
	})
}

// A second copy of anything changes nothing (bug 35, needs 1).
func TestFairLockCopiesChangeNothing(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		took := p.enters(alice, 0)
		p.same(func() {
			got := p.ask(alice, 0)
			require.Equal(t, luacall.Already, got.Status)
			require.Equal(t, took.Fence, got.Fence)
		})
		ticket := p.waits(bob, 0)
		p.same(func() { require.Equal(t, ticket, p.waits(bob, 0)) })
		second := p.enqueue(luacall.Place{ID: carol}).Tickets[0]
		p.same(func() { require.Equal(t, []int64{second}, p.enqueue(luacall.Place{ID: carol}).Tickets) })
		p.waits(carol, second)
		require.Equal(t, bob, p.done(alice))
		p.same(func() { require.Equal(t, luacall.Gone, p.leaves(alice).Status) })
		claimed := p.enters(bob, ticket)
		p.same(func() {
			got := p.ask(bob, ticket)
			require.Equal(t, luacall.Already, got.Status)
			require.Equal(t, claimed.Fence, got.Fence)
		})
		p.same(func() { require.Equal(t, luacall.Gone, p.leaves(alice).Status) })
	})
}

func TestFairLockLateRequestsWriteNothing(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		late := func(id string, ticket int64) luacall.FairReply {
			return run(p.place, luacall.FairAcquire(p.f, p.t, luacall.FairArgs{
				ID: id, Lease: lease, NotAfter: p.now() - 1, FenceTTL: fenceTTL, Ticket: ticket,
			}))
		}
		for step, act := range []func(){
			func() {}, func() { p.enters(alice, 0) }, func() { p.waits(bob, 0) },
			func() { require.Equal(t, bob, p.done(alice)) }, func() { p.expire() },
		} {
			act()
			p.same(func() {
				for _, id := range []string{alice, bob, carol} {
					got := late(id, 0)
					require.Equal(t, luacall.TooLate, got.Status, "step %d", step)
					require.Positive(t, got.Now)
				}
				got := run(p.place, luacall.FairEnqueue(p.f, p.t, p.now()-1, []luacall.Place{{ID: carol}}))
				require.Equal(t, luacall.TooLate, got.Status)
				require.Empty(t, got.Tickets)
				require.Positive(t, got.Now)
			})
		}
	})
}

func TestFairLockPlacesAreGivenInOrder(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		var places []luacall.Place
		for i := range 100 {
			places = append(places, luacall.Place{ID: fmt.Sprintf("%s%d", bob, i)})
		}
		before := p.now()
		got := p.enqueue(places...)
		require.Equal(t, luacall.Done, got.Status)
		require.Len(t, got.Tickets, 100)
		for i, ticket := range got.Tickets {
			require.Equal(t, got.Now+int64(i), ticket)
			require.Equal(t, places[i].ID, p.queue()[i])
		}
		require.GreaterOrEqual(t, got.Now, before)
		p.lives(p.f.Queue, p.t.Unused)
		// After the last one also when the clock is behind it.
		p.do("ZADD %s 5000000000000001 %s", p.f.Queue, carol)
		require.Equal(t, []int64{5000000000000002, 7}, p.enqueue(luacall.Place{ID: dave}, luacall.Place{ID: alice, Ticket: 7}).Tickets)
		require.Equal(t, int64(5000000000000003), p.waits2(dave+"0"))
	})
}

// waits2 asks where the lock is held by a stranger.
func (p *fairPlace) waits2(id string) int64 {
	p.place.t.Helper()
	run(p.place, p.acquire(alice+"9"))
	return p.waits(id, 0)
}

// An exported hold can end, and a late copy of its registration give it a place: the invitation of that one is not the
// hold, whose fencing token is older than those that were minted meanwhile.
func TestFairLockInvitationIsNoHoldThatCanMove(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		p.waits(bob, 0)
		require.Equal(t, luacall.Gone, p.adopts(bob, carol))
		require.Equal(t, bob, p.done(alice))
		p.same(func() { require.Equal(t, luacall.Gone, p.adopts(bob, carol)) })
		p.enters(bob, 0)
		require.Equal(t, luacall.Held, p.adopts(bob, carol))
	})
}
