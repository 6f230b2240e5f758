package luacall_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// alone has bob and another waiter of his client stand in the queue, and nobody else: that is noted, and goes on with
// those of his that come.
func (p *fairPlace) alone() (last int64) {
	p.place.t.Helper()
	p.enters(alice, 0)
	p.waits(bob, 0) // which makes the record
	got := p.enqueue(luacall.Place{ID: bob2})
	require.Equal(p.place.t, got.Tickets[0], got.Next)
	return got.Next
}

// Another client is seen at once by the one that was alone in the queue: however it comes, and wherever it
// stands.
func TestFairLockSeesWhoComesToAClientThatWasAlone(t *testing.T) {
	for name, come := range map[string]func(p *fairPlace, last int64) (between bool){
		"it asks":       func(p *fairPlace, _ int64) bool { p.waits(carol, 0); return true },
		"it registers":  func(p *fairPlace, _ int64) bool { p.enqueue(luacall.Place{ID: carol}); return true },
		"it comes back": func(p *fairPlace, _ int64) bool { p.enqueue(luacall.Place{ID: carol, Ticket: 7}); return false },
		"it asks with the ticket that it had": func(p *fairPlace, _ int64) bool {
			p.waits(carol, 7)
			return false
		},
		"it only writes": func(p *fairPlace, last int64) bool {
			p.rdb.ZAdd(context.Background(), p.f.Queue, redis.Z{Score: float64(last + 1), Member: carol})
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			fairly(t, func(t *testing.T, p *fairPlace) {
				last := p.alone()
				want := int64(0)
				if come(p, last) {
					want = last
				}
				require.Equal(t, want, p.enqueue(luacall.Place{ID: bob3}).Next)
				require.Equal(t, want, p.enqueue(luacall.Place{ID: bob3 + "0"}).Next, "and is not forgotten")
				p.leaves(carol)
				got := p.enqueue(luacall.Place{ID: bob3 + "1"})
				require.Equal(t, got.Tickets[0], got.Next, "it is alone again")
			})
		})
	}
}

// One that is alone costs the same, however many of it stand in the queue; and what says so does not stay.
func TestFairLockOfAClientThatIsAloneLooksAtTheLastOnly(t *testing.T) {
	p := fairAlone(t)
	p.alone()
	for i := range 400 {
		p.enqueue(luacall.Place{ID: bob3 + string(rune('a'+i/20)) + string(rune('a'+i%20))})
	}
	calls := p.callsOf(func() {
		got := p.enqueue(luacall.Place{ID: bob3})
		require.Equal(t, got.Tickets[0], got.Next)
	})
	require.NotContains(t, " "+calls, " zrange")
	for _, id := range p.queue() {
		p.leaves(id)
	}
	p.leaves(alice)
	p.idle()
}

// A second copy of a registration is told the same tickets, also if some of its waiters have left, or had a ticket.
func TestFairEnqueueTellsTheTicketsInTheOrderOfThePlaces(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		places := []luacall.Place{{ID: bob}, {ID: bob2}, {ID: bob3}}
		first := p.enqueue(places...).Tickets
		require.Equal(t, []int64{first[0], first[0] + 1, first[0] + 2}, first)
		require.Equal(t, first, p.enqueue(places...).Tickets)
		p.leaves(bob2)
		again := p.enqueue(places...).Tickets
		require.Equal(t, []int64{first[0], first[2]}, []int64{again[0], again[2]})
		require.Greater(t, again[1], first[2])
		mixed := p.enqueue(luacall.Place{ID: bob3 + "0", Ticket: 5}, luacall.Place{ID: bob3 + "1"}, luacall.Place{ID: bob, Ticket: 9})
		require.Equal(t, []int64{5, first[0]}, []int64{mixed.Tickets[0], mixed.Tickets[2]})
		require.Greater(t, mixed.Tickets[1], again[1])
		require.Equal(t, []string{bob3 + "0", bob, bob3, bob2, bob3 + "1"}, p.queue())
	})
}
