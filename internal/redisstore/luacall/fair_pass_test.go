package luacall_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// A claim says up to which ticket those that stand next are its client's, and how many tokens it may give them.
func TestFairLockSaysWhoStandsNext(t *testing.T) {
	p := fairAlone(t)
	p.enters(alice, 0)
	first := p.waits(bob, 0)
	last := p.enqueue(luacall.Place{ID: bob2}).Tickets[0]
	p.waits(carol, 0)
	require.Equal(t, bob, p.done(alice))
	got := p.enters(bob, first)
	require.Equal(t, last, got.Next)
	require.Positive(t, got.Spare)
	require.False(t, got.Swapped)
	require.Equal(t, carol, p.servedBy(bob, bob2))
	require.Zero(t, p.enters(carol, 0).Next)
	p.leaves(carol)
	p.idle()
}

// servedBy ends a hold that was passed on, and says who is invited.
func (p *fairPlace) servedBy(id string, served ...string) string {
	p.place.t.Helper()
	got := run(p.place, luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: id, Served: served}))
	require.Equal(p.place.t, luacall.Done, got.Status)
	return p.invited()
}

// Where another of the client was invited than the one that comes, that is told.
func TestFairLockSaysThatAnotherWasMeant(t *testing.T) {
	p := fairAlone(t)
	p.enters(alice, 0)
	p.waits(bob, 0)
	second := p.enqueue(luacall.Place{ID: bob2}).Tickets[0]
	require.Equal(t, bob, p.done(alice))
	got := p.enters(bob2, second)
	require.True(t, got.Swapped)
	require.Equal(t, second, got.Next)
}

// While one that was taken for dead may come back, nobody is said to stand next.
func TestFairLockPassesNothingWhileTheDeadMayComeBack(t *testing.T) {
	p := fairAlone(t)
	p.enters(alice, 0)
	p.waits(carol, 0)
	first := p.waits(bob, 0)
	p.enqueue(luacall.Place{ID: bob2})
	p.dies(carol)
	require.Equal(t, bob, p.done(alice))
	require.Zero(t, p.enters(bob, first).Next)
}

// The places of those who were served go without the hold, too, and a hold of another one stays.
func TestFairLockForgetsThoseWhoWereServed(t *testing.T) {
	p := fairAlone(t)
	p.enters(alice, 0)
	p.waits(bob, 0)
	p.enqueue(luacall.Place{ID: bob2})
	p.waits(carol, 0)
	got := run(p.place, luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: bob, Served: []string{bob, bob2}}))
	require.Equal(t, luacall.Gone, got.Status)
	require.Equal(t, []string{carol}, p.queue())
	p.heldOnce(alice)
}

// A waiter that was served has no use for the lock: if it was given to such a place meanwhile, the release that ends
// the run gives it to the next, and the hold that is gone stays so (defect F9).
func TestFairLockIsNotKeptForOneThatWasServed(t *testing.T) {
	for name, given := range map[string]func(p *fairPlace){
		"the first was invited":                func(p *fairPlace) { require.Equal(p.place.t, bob2, p.done(bob)) },
		"the second was invited":               func(p *fairPlace) { p.done(bob); p.leaves(bob2); require.Equal(p.place.t, bob3, p.invited()) },
		"a copy of its question took the lock": func(p *fairPlace) { p.done(bob); p.enters(bob2, 0) },
	} {
		for _, next := range []string{carol, ""} {
			t.Run(name+", and next is "+next, func(t *testing.T) {
				fairly(t, func(t *testing.T, p *fairPlace) {
					p.enters(bob, 0)
					p.enqueue(luacall.Place{ID: bob2}, luacall.Place{ID: bob3})
					if next != "" {
						p.waits(next, 0)
					}
					given(p)
					heard := p.hear(alice, bob, carol)
					got := run(p.place, luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: bob, Served: []string{bob2, bob3}}))
					require.Equal(t, luacall.Gone, got.Status)
					require.Equal(t, next, p.invited())
					require.Equal(t, []string{cmp.Or(next, "lock")}, heard())
					if next != "" {
						p.leaves(next)
					}
					p.idle()
				})
			})
		}
	}
}
