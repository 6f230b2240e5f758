package luacall_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// A dead reader does not keep a writer out although others keep the hash alive, and an attempt asks no
// more than it needs to know (needs 19: a reader's crash frees the writer within that reader's own lease).
func TestRWDeadReadersAreClearedAway(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.readFor(alice, lease))
		run(p.place, p.readFor(bob, 4000))
		p.kill(alice)
		reply := p.writeOver(carol)
		require.Equal(t, luacall.Busy, reply.Status)
		require.InDelta(t, 4000, reply.PTTL.Milliseconds(), 1000, "bob's lease, and not that of the hash")
		p.kill(bob)
		require.Equal(t, luacall.Held, p.writeOver(carol).Status)
		p.is("write", carol+":write", "1")
		p.lives(p.lock, lease)
	})
}

func TestRWAReaderLivesByAnyOfItsHoldKeys(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		p.deepen(alice, 3)
		p.do("DEL %s %s", p.hold(alice, 3), p.hold(alice, 1))
		require.Equal(t, luacall.Busy, p.writeOver(bob).Status, "as Redisson sees it")
		p.kill(alice)
		require.Equal(t, luacall.Held, p.writeOver(bob).Status)
	})
}

func TestRWALastReaderAmongDeadOnesFreesTheLock(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		for _, id := range []string{alice, bob, carol} {
			run(p.place, p.read(id))
		}
		p.kill(alice)
		heard := p.listen(false)
		require.Equal(t, luacall.Done, run(p.place, p.unread(bob)).Status)
		require.Empty(t, heard(), "carol lives")
		p.kill(alice)
		require.Equal(t, luacall.Done, run(p.place, p.unread(carol)).Status)
		require.Equal(t, []string{"0"}, heard(), "nobody seems to live")
		require.Equal(t, luacall.Held, p.writeOver(bob).Status)
	})
}

// A reader that looks dead lives if a hold key that could not be seen is there: it may be on the node that a moving
// slot comes from. And Java may enter a dead reader's hold again.
func TestRWOnlyWhoIsNamedAndDeadIsClearedAway(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		p.deepen(alice, 2)
		p.kill(alice)
		reply := run(p.place, p.write(bob))
		require.Equal(t, []luacall.Reader{{ID: alice, Count: 2}}, reply.Dead)
		p.is("read", alice, "2")
		named := p.writeArgs(bob)
		named.Dead = reply.Dead
		for what, revive := range map[string]func(){
			"a hold key":     func() { p.do("SET %s 1 PX %d", p.hold(alice, 2), lease) },
			"another level":  func() { p.do("HSET %s %s 3", p.lock, alice) },
			"another reader": func() { p.do("SET %s 1 PX %d", p.hold(alice, 2), lease); run(p.place, p.read(carol)) },
		} {
			p.do("DEL %s", p.gate)
			revive()
			require.Equal(t, luacall.Busy, run(p.place, luacall.AcquireWrite(named)).Status, what)
			require.NotEmpty(t, p.rdb.HGet(t.Context(), p.lock, alice).Val(), what)
			p.kill(alice)
			p.kill(carol)
			p.do("HSET %s %s 2", p.lock, alice)
			p.do("HDEL %s %s", p.lock, carol)
		}
		require.Equal(t, luacall.Held, run(p.place, luacall.AcquireWrite(named)).Status)
		p.is("write", bob+":write", "1")
	})
}

// fill makes many readers, of which those from the given one on live.
func (p *rwPlace) fill(many, alive int) {
	p.t.Helper()
	ctx, pipe := context.Background(), p.rdb.Pipeline()
	pipe.HSet(ctx, p.lock, "mode", "read")
	for i := range many {
		id := fmt.Sprint("crowd:", i)
		pipe.HSet(ctx, p.lock, id, 1)
		if i >= many-alive {
			pipe.Set(ctx, p.hold(id, 1), 0, time.Duration(lease)*time.Millisecond)
		}
	}
	pipe.PExpire(ctx, p.lock, time.Duration(lease)*time.Millisecond)
	_, err := pipe.Exec(ctx)
	require.NoError(p.t, err)
}

// A writer clears a crowd of dead readers away, a part with each attempt, and comes to hold.
func TestRWACrowdOfDeadReaders(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		p.fill(1000, 0)
		attempts := 0
		for {
			attempts++
			reply := p.writeOver(alice)
			if reply.Status == luacall.Held {
				break
			}
			require.Zero(t, reply.PTTL, "it is asked again at once")
			require.Less(t, attempts, 1000)
		}
		require.Less(t, attempts, 100)
		p.is("write", alice+":write", "1")
	})
}

// An attempt among thousands of readers costs what it costs among some.
func TestRWAnAttemptNeverWalksAllReaders(t *testing.T) {
	p := newRWPlace(t, startServer(t).Client(t))
	p.fill(10_000, 10_000)
	require.Equal(t, "hlen hmget hrandfield pttl*2 set time",
		p.callsOf(func() { run(p.place, p.write(alice)) }))
	require.Equal(t, "del hdel hlen hmget hrandfield pttl",
		p.callsOf(func() { run(p.place, p.unread("crowd:5")) }))
	p.do("DEL %s", p.gate)
	require.Equal(t, "get hmget hset pexpire pttl*2 set*2 time",
		p.callsOf(func() { run(p.place, p.read(bob)) }), "the first reader of a name without a token")
	require.Equal(t, "get hmget hset pttl*2 set time",
		p.callsOf(func() { run(p.place, p.readFor(carol, lease/2)) }), "and the next one")
}

func TestRWWhatCannotBeAReaderIsAConflict(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		for _, fields := range []string{"owner me", "a:1 x", "a:1 -1"} {
			p.do("DEL %s", p.lock)
			p.do("HSET %s mode read %s", p.lock, fields)
			p.do("PEXPIRE %s %d", p.lock, lease)
			p.still(func() { conflict(p.place, p.write(alice)) })
		}
	})
}
