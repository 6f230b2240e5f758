package luacall_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// What each script pays where nobody waits: two calls more than the reentrant lock's.
func TestFairLockCallsWithoutAQueue(t *testing.T) {
	p := fairAlone(t)
	for _, s := range []struct {
		name  string
		act   func()
		calls string
	}{
		{"the first token", func() { p.enters2(alice) }, "get hmget hset pexpire pttl set time zrange"},
		{"release", func() { p.leaves(alice) }, "del hmget lrange publish zrange"},
		{"release of nothing", func() { p.leaves(alice) }, "del exists hmget zrange"},
		{"acquisition", func() { p.enters2(alice) }, "get hmget hset pexpire pttl set time zrange"},
		{"resend", func() { p.ask(alice, 0) }, "get hgetall hlen pttl time"},
		{"a mere attempt", func() { p.try(bob) }, "hgetall hlen hmget pttl time"},
	} {
		require.Equal(t, s.calls, p.callsOf(s.act), s.name)
	}
}

// enters2 takes the lock without looking at it.
func (p *fairPlace) enters2(id string) {
	p.place.t.Helper()
	require.Equal(p.place.t, luacall.Held, p.ask(id, 0).Status)
}

// No call looks at more of the queue with ten thousand in it than with ten: the scripts call the same
// commands, each of which costs O(log n), and what differs in time is less than what ten thousand would cost.
func TestFairLockCostsTheSameWithTenThousandWaiters(t *testing.T) {
	calls := map[int]string{}
	took := map[int]time.Duration{}
	for _, waiters := range []int{10, 10_000} {
		p := fairAlone(t)
		p.enters2(alice)
		first := p.waits(bob, 0)
		places := make([]luacall.Place, 0, 100)
		for i := range waiters {
			places = append(places, luacall.Place{ID: fmt.Sprintf("%s-%d:1", carol[:36], i%100+1000*(i/100))})
			if len(places) == cap(places) || i == waiters-1 {
				p.enqueue(places...)
				places = places[:0]
			}
		}
		var seen string
		step := func(name string, act func()) { seen += name + ": " + p.callsOf(act) + "\n" }
		step("poll of the first", func() { p.ask(bob, first) })
		var last int64
		step("arrival", func() { last = p.ask(dave, 0).Ticket })
		step("poll of the last", func() { p.ask(dave, last) })
		step("registration", func() { p.enqueue(luacall.Place{ID: bob2}) })
		step("release", func() { p.leaves(alice) })
		step("claim", func() { require.Equal(t, luacall.Held, p.ask(bob, first).Status) })
		step("leaving", func() { p.leaves(dave) })
		require.NotContains(t, seen, "*1", "some command was called ten times:\n%s", seen)
		calls[waiters] = seen
		start := time.Now()
		for range 200 {
			p.ask(dave, p.ask(dave, 0).Ticket)
			p.leaves(dave)
		}
		took[waiters] = time.Since(start)
	}
	require.Equal(t, calls[10], calls[10_000])
	t.Logf("200 times arriving, looking and leaving: %v with 10, %v with 10,000\n%s", took[10], took[10_000], calls[10])
	require.Less(t, took[10_000], 20*took[10]+time.Second)
}
