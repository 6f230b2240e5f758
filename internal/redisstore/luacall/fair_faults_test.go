package luacall_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Either key of the queue may be lost at any time: places are given anew or come back, nobody gets in beside
// the holder, and nothing is left (bug 34).
func TestFairLockHealsWhatIsLost(t *testing.T) {
	lost := map[string]func(p *fairPlace) string{
		"queue": func(p *fairPlace) string { return p.f.Queue },
		"alive": func(p *fairPlace) string { return p.f.Alive },
		"state": func(p *fairPlace) string { return p.f.State },
	}
	for name, key := range lost {
		for step := range 4 {
			t.Run(fmt.Sprint(name, " ", step), func(t *testing.T) {
				fairly(t, func(t *testing.T, p *fairPlace) {
					drop := func(at int) {
						if at == step {
							p.do("DEL %s", key(p))
						}
					}
					p.enters(alice, 0)
					first, second := p.waits(bob, 0), p.waits(carol, 0)
					drop(0)
					require.Equal(t, first, p.waits(bob, first))
					drop(1)
					require.Equal(t, second, p.waits(carol, second))
					holder := alice
					require.Equal(t, luacall.Done, p.leaves(alice).Status)
					drop(2)
					for _, next := range []struct {
						id     string
						ticket int64
					}{{bob, first}, {carol, second}, {bob, first}, {carol, second}} {
						if p.ask(next.id, next.ticket).Status == luacall.Held {
							p.heldOnce(next.id)
							require.Equal(t, luacall.Done, p.leaves(next.id).Status)
							holder = next.id
						}
						drop(3)
						// A queue that was lost is given a while to come back.
						if p.rdb.HGet(context.Background(), p.f.State, "out").Val() > "0" {
							p.do("HSET %s out 0", p.f.State)
						}
					}
					require.NotEqual(t, alice, holder)
					for _, id := range []string{bob, carol} {
						p.leaves(id)
					}
					if name == "queue" && p.rdb.Exists(context.Background(), p.f.State).Val() == 1 {
						p.lives(p.f.State, p.t.Unused) // nobody is left to look
						p.do("DEL %s %s", p.f.State, p.f.Alive)
					}
					p.idle()
				})
			})
		}
	}
}

// When all is lost but the waiters, they come back in the old order: the first to come does not take the
// lock before the others could, too.
func TestFairLockKeepsTheOrderWhenAllIsLost(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		p.enters(alice, 0)
		first, second := p.waits(bob, 0), p.waits(carol, 0)
		p.do("DEL %s %s %s %s", p.f.Lock, p.f.Queue, p.f.Alive, p.f.State)
		got := p.ask(carol, second)
		require.Equal(t, luacall.Busy, got.Status)
		require.True(t, got.Lapsed)
		require.Equal(t, time.Duration(p.t.Restore)*time.Millisecond, got.PTTL)
		require.Equal(t, luacall.Busy, p.ask(dave, 0).Status)
		require.Equal(t, luacall.Busy, p.try(dave+"0").Status)
		require.Equal(t, luacall.Busy, p.ask(bob, first).Status)
		require.Equal(t, []string{bob, carol, dave}, p.queue())
		p.free()
		p.do("HSET %s out 1", p.f.State) // that time is over
		require.Equal(t, luacall.Busy, p.ask(carol, second).Status)
		require.Equal(t, bob, p.invited())
		p.enters(bob, first)
	})
}

// Whether a client is alive is judged by a clock that does not run on while the server stands still, or when its
// time is set.
func TestFairLockClock(t *testing.T) {
	for name, step := range map[string]time.Duration{
		"stands still, or is set forward": time.Hour, "is set back": -time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			p, server := fairMini(t)
			now := time.Now()
			server.SetTime(now)
			p.enters(alice, 0)
			first, second := p.waits(bob, 0), p.waits(carol, 0)
			server.SetTime(now.Add(step))
			require.Equal(t, bob, p.done(alice), "nobody is taken for dead")
			p.enters(bob, first)
			require.False(t, p.ask(carol, second).Lapsed)
			require.Greater(t, p.waits(dave, 0), second)
			require.Equal(t, carol, p.done(bob))
		})
	}
}

// A client that does not ask while others do is dead after its life.
func TestFairLockClientsDieWithTime(t *testing.T) {
	p, server := fairMini(t)
	now := time.Now()
	server.SetTime(now)
	p.enters(alice, 0)
	first, second := p.waits(bob, 0), p.waits(carol, 0)
	for past := 10 * time.Second; past <= time.Minute; past += 10 * time.Second {
		server.SetTime(now.Add(past))
		require.False(t, p.ask(carol, second).Lapsed)
		require.Equal(t, []string{bob, carol}, p.queue())
	}
	server.SetTime(now.Add(61 * time.Second))
	require.Equal(t, carol, p.done(alice))
	require.Equal(t, []string{carol}, p.queue())
	got := p.ask(bob, first)
	require.True(t, got.Lapsed)
	require.Equal(t, first, got.Ticket)
}

// Something else at the lock's key is a conflict, and nothing is written.
func TestFairLockStrangersAtTheKey(t *testing.T) {
	for name, commands := range strangers {
		t.Run(name, func(t *testing.T) {
			fairly(t, func(t *testing.T, p *fairPlace) {
				for _, command := range commands {
					p.do(command, p.lock)
				}
				p.unchanged(func() {
					conflict(p.place, p.asking(alice, 0))
					conflict(p.place, luacall.FairInspect(p.f, p.t, false))
					isHash := p.do("TYPE %s", p.lock) == "hash"
					untouched(p.place, isHash, p.leaving(alice))
				})
				require.Zero(t, p.stored())
				require.Zero(t, p.rdb.Exists(context.Background(), p.f.Queue, p.f.Alive, p.f.State).Val())
			})
		})
	}
}

// Something else at a key of the queue keeps nobody from releasing the lock.
func TestFairLockStrangersAtTheQueue(t *testing.T) {
	for name, key := range map[string]func(p *fairPlace) string{
		"queue": func(p *fairPlace) string { return p.f.Queue },
		"alive": func(p *fairPlace) string { return p.f.Alive },
		"state": func(p *fairPlace) string { return p.f.State },
		"token": func(p *fairPlace) string { return p.f.Token },
	} {
		t.Run(name, func(t *testing.T) {
			fairly(t, func(t *testing.T, p *fairPlace) {
				p.enters(alice, 0)
				ticket := p.waits(bob, 0)
				p.do("DEL %s", key(p))
				p.do("RPUSH %s x", key(p))
				if name != "token" {
					p.unchanged(func() {
						conflict(p.place, p.asking(bob, ticket))
						conflict(p.place, p.asking(carol, 0))
					})
				}
				heard := p.hear(bob)
				require.Equal(t, luacall.Done, p.leaves(alice).Status)
				if name == "token" {
					require.Equal(t, []string{bob}, heard())
					p.unchanged(func() { conflict(p.place, p.asking(bob, ticket)) })
					return
				}
				require.Equal(t, []string{"lock"}, heard())
				p.free()
				conflict(p.place, p.asking(carol, ticket))
				p.free()
			})
		})
	}
}

// At full memory nobody gets a place or a free lock; a holder can release it, and a waiter that was invited or has
// a place already goes on.
func TestFairLockAtFullMemory(t *testing.T) {
	places, fill := fullPlaces(t, 4)
	var ps []*fairPlace
	tickets := make([]int64, len(places))
	for i, place := range places {
		ps = append(ps, newFairPlace(place))
		if i == 0 {
			continue
		}
		ps[i].enters(alice, 0)
		tickets[i] = ps[i].waits(bob, 0)
		ps[i].waits(carol, 0)
	}
	fresh, passed, invited, free := ps[0], ps[1], ps[2], ps[3]
	require.Equal(t, bob, invited.done(alice))
	free.expire()
	fill()

	fresh.same(func() { outOfMemory(fresh.place, fresh.asking(alice, 0)) })
	fresh.idle()
	free.same(func() { outOfMemory(free.place, free.asking(bob, tickets[3])) })
	free.same(func() { outOfMemory(free.place, free.asking(dave, 0)) })
	passed.same(func() {
		outOfMemory(passed.place, passed.asking(dave, 0))
		outOfMemory(passed.place, luacall.FairEnqueue(passed.f, passed.t, never, []luacall.Place{{ID: dave}}))
		require.False(t, passed.ask(bob, tickets[1]).Lapsed, "it stays alive")
	})
	require.Equal(t, bob, passed.done(alice))
	passed.enters(bob, tickets[1])
	passed.leaves(carol)
	require.Empty(t, passed.done(bob))
	passed.idle()
	invited.enters(bob, tickets[2])
}

func TestFairLockBadArgumentsAreNotSent(t *testing.T) {
	p := newFairPlace(newPlace(t, nil))
	args := luacall.FairArgs{ID: alice, Lease: 1000, NotAfter: never, FenceTTL: -1}
	for name, change := range map[string]func(f *luacall.Fair, t *luacall.FairTimes, a *luacall.FairArgs){
		"no lock":         func(f *luacall.Fair, _ *luacall.FairTimes, _ *luacall.FairArgs) { f.Lock = "" },
		"no queue":        func(f *luacall.Fair, _ *luacall.FairTimes, _ *luacall.FairArgs) { f.Queue = "" },
		"no life":         func(_ *luacall.Fair, t *luacall.FairTimes, _ *luacall.FairArgs) { t.Life = 0 },
		"pause too long":  func(_ *luacall.Fair, t *luacall.FairTimes, _ *luacall.FairArgs) { t.Pause = 1 << 60 },
		"no colon in id":  func(_ *luacall.Fair, _ *luacall.FairTimes, a *luacall.FairArgs) { a.ID = "me" },
		"no client in id": func(_ *luacall.Fair, _ *luacall.FairTimes, a *luacall.FairArgs) { a.ID = ":1" },
		"lease 0":         func(_ *luacall.Fair, _ *luacall.FairTimes, a *luacall.FairArgs) { a.Lease = 0 },
		"fence TTL 0":     func(_ *luacall.Fair, _ *luacall.FairTimes, a *luacall.FairArgs) { a.FenceTTL = 0 },
		"ticket < 0":      func(_ *luacall.Fair, _ *luacall.FairTimes, a *luacall.FairArgs) { a.Ticket = -1 },
		"ticket inexact":  func(_ *luacall.Fair, _ *luacall.FairTimes, a *luacall.FairArgs) { a.Ticket = 1<<53 + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			f, times, a := p.f, p.t, args
			change(&f, &times, &a)
			refused(t, luacall.FairAcquire(f, times, a))
			if a == args {
				refused(t, luacall.FairRelease(f, times, luacall.FairReleaseArgs{ID: alice}))
				refused(t, luacall.FairEnqueue(f, times, never, []luacall.Place{{ID: alice}}))
				refused(t, luacall.FairInspect(f, times, false))
			}
		})
	}
	refused(t, luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: "me"}))
	refused(t, luacall.FairEnqueue(p.f, p.t, never, nil))
	refused(t, luacall.FairEnqueue(p.f, p.t, never, make([]luacall.Place, 1001)))
	refused(t, luacall.FairEnqueue(p.f, p.t, never, []luacall.Place{{ID: alice, Ticket: -1}}))
}
