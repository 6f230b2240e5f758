package luacall_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// After a run of invitations the lock is free for a moment, if anybody listens who does not stand in the
// queue: in it nobody in the queue takes the lock, and nobody loses its place.
func TestFairLockRunEnds(t *testing.T) {
	p, server := fairMini(t)
	now := time.Now()
	server.SetTime(now)
	p.enters(alice, 0)
	first, second := p.waits(bob, 0), p.waits(carol, 0)
	heard := p.hear(alice, bob, carol) // also on the lock's channel
	require.Equal(t, bob, p.done(alice))
	p.enters(bob, first)
	server.SetTime(now.Add(10 * time.Second))
	third := p.waits(alice, 0)
	require.Equal(t, second, p.waits(carol, second))
	require.Equal(t, carol, p.done(bob))
	require.Equal(t, []string{bob, carol}, heard())
	p.enters(carol, second)
	for _, past := range []time.Duration{20 * time.Second, 31 * time.Second} {
		server.SetTime(now.Add(past))
		require.Equal(t, third, p.waits(alice, third))
	}
	fourth := p.waits(bob, 0)
	got := p.leaves(carol)
	require.Equal(t, luacall.Done, got.Status)
	require.Equal(t, int64(1), got.Receivers)
	p.free()
	require.Equal(t, []string{alice, "lock"}, heard(), "the first in the queue is told as well")

	for id, ticket := range map[string]int64{bob: fourth, alice: third} {
		got := p.ask(id, ticket)
		require.Equal(t, luacall.Busy, got.Status)
		require.GreaterOrEqual(t, got.PTTL, 5*time.Second)
	}
	require.Equal(t, luacall.Busy, p.try(dave).Status)
	require.Equal(t, 5*time.Second, p.ask(alice, third).PTTL)
	p.free()
	server.SetTime(now.Add(37 * time.Second))
	require.Equal(t, luacall.Busy, p.ask(bob, fourth).Status)
	require.Equal(t, alice, p.invited())
	p.enters(alice, third)
	require.Equal(t, bob, p.done(alice))
}

// fairRun is a run of invitations that is as long as one may be: bob has the lock, and carol waits.
func fairRun(t *testing.T) (p *fairPlace, server *miniredis.Miniredis, began time.Time, carols int64) {
	t.Helper()
	p, server = fairMini(t)
	began = time.Now()
	server.SetTime(began)
	p.enters(alice, 0)
	first, second := p.waits(bob, 0), p.waits(carol, 0)
	require.Equal(t, bob, p.done(alice))
	p.enters(bob, first)
	for past := 10 * time.Second; past <= 40*time.Second; past += 10 * time.Second {
		server.SetTime(began.Add(past))
		p.waits(carol, second)
	}
	return p, server, began, second
}

// Somebody from outside takes the lock in that moment; then it goes on in the old order.
func TestFairLockStrangerComesInAfterARun(t *testing.T) {
	p, _, _, second := fairRun(t)
	p.hear()
	require.Empty(t, p.done(bob))
	p.free()
	run(p.place, p.acquire(dave))
	got := p.ask(carol, second)
	require.Equal(t, luacall.Busy, got.Status)
	require.True(t, got.Foreign)
	run(p.place, p.release(dave))
	p.enters(carol, second)
	require.Empty(t, p.done(carol))
	p.idle()
}

// If nobody else listens the run goes on.
func TestFairLockRunGoesOn(t *testing.T) {
	p, server, now, second := fairRun(t)
	require.Equal(t, carol, p.done(bob))
	p.enters(carol, second)
	// Unless it cannot be known.
	third := p.waits(bob, 0)
	for past := 50 * time.Second; past <= 80*time.Second; past += 10 * time.Second {
		server.SetTime(now.Add(past))
		p.waits(bob, third)
	}
	require.Equal(t, luacall.Done, run(p.place,
		luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: carol, Unsure: true})).Status)
	p.free()
	require.Equal(t, luacall.Busy, p.ask(bob, third).Status)
	p.free()
}

// Java's fair lock has a queue of its own: the first in it is told when nobody waits in ours, and so are those
// behind it, as long as those before them have given up.
func TestFairLockTellsJava(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		wait := func(id string, till int64) {
			p.do("RPUSH %s %s", p.f.JavaQueue, id)
			p.do("ZADD %s %d %s", p.f.JavaTimes, till, id)
		}
		later := p.now()/1000 + 600_000
		wait(bob, 1)
		wait(carol, later)
		wait(dave, later)
		heard := p.hear(bob, carol, dave)
		p.enters(alice, 0)
		require.Equal(t, int64(3), p.leaves(alice).Receivers)
		require.Equal(t, []string{"java " + bob, "java " + carol, "lock"}, heard())
		p.free()
		p.do("DEL %s", p.f.JavaTimes)
		p.enters(alice, 0)
		p.leaves(alice)
		require.Equal(t, []string{"java " + bob, "lock"}, heard(), "one without a time is never passed over")

		p.do("DEL %s", p.f.JavaQueue)
		p.do("SET %s x", p.f.JavaQueue) // what is no queue is left alone
		p.enters(alice, 0)
		require.Equal(t, luacall.Done, p.leaves(alice).Status)
		require.Equal(t, []string{"lock"}, heard())
	})
}

func TestFairLockShowsWhoWaits(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		look := func() luacall.InspectReply {
			t.Helper()
			return run(p.place, luacall.FairInspect(p.f, p.t, false))
		}
		got := look()
		require.Negative(t, got.PTTL)
		require.Empty(t, got.Holders)
		require.Empty(t, got.Queue)

		took := p.enters(alice, 0)
		first, second := p.waits(bob, 0), p.waits(carol, 0)
		p.hear()
		got = look()
		require.InDelta(t, 30*time.Second, got.PTTL, float64(time.Second))
		require.Equal(t, []luacall.Holder{{ID: alice, Count: 1}}, got.Holders)
		require.Equal(t, took.Fence, got.Fence)
		require.Equal(t, int64(1), got.Subscribers)
		require.Equal(t, []luacall.Queued{{ID: bob, Since: first}, {ID: carol, Since: second}}, got.Queue)

		p.done(alice)
		got = look()
		require.Equal(t, []luacall.Holder{{ID: bob, Count: 0}}, got.Holders, "invited, and not in yet")
		require.Equal(t, []luacall.Queued{{ID: carol, Since: second}}, got.Queue)

		p.dies(carol)
		require.Empty(t, look().Queue)
		p.same(func() { look() })
	})
}
