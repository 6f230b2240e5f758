package luacall_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// BenchmarkScripts reports, besides the time of the round trip, the time that Redis itself
// was busy with the script (server-us/op).
func BenchmarkScripts(b *testing.B) {
	p := newPlace(b, startServer(b).Client(b))
	depth, turn := int64(1), 0
	holders := [2]string{alice, bob}
	for _, script := range []struct {
		name string
		held bool
		run  func()
	}{
		{"busy", true, func() { run(p, p.acquire(bob)) }},
		{"renew", true, func() { run(p, p.renew(alice, lease)) }},
		{"inspect", true, func() { run(p, p.inspect()) }},
		{"levels", true, func() { depth++; run(p, p.levels(alice, depth, depth+1)) }},
		{"mint", true, func() { run(p, p.mintFor(alice)) }},
		{"adopt", true, func() { run(p, p.adopt(holders[turn%2], holders[(turn+1)%2])); turn++ }},
		{"release of nothing", false, func() { run(p, p.release(alice)) }},
	} {
		b.Run(script.name, func(b *testing.B) {
			depth, turn = 1, 0
			p.do("DEL %s", p.lock)
			if script.held {
				run(p, p.acquire(alice))
			}
			script.run()
			p.measure(b, script.run)
		})
	}
}

// BenchmarkPair is the hot path: an uncontended acquisition and its release.
func BenchmarkPair(b *testing.B) {
	p := newPlace(b, startServer(b).Client(b))
	run(p, p.acquire(alice))
	run(p, p.release(alice))
	p.measure(b, func() {
		run(p, p.acquire(alice))
		run(p, p.release(alice))
	})
}

// BenchmarkAcquire and BenchmarkRelease undo the other half by plain commands, which are in
// the time of the round trips but not in that of the scripts.
func BenchmarkAcquire(b *testing.B) {
	p := newPlace(b, startServer(b).Client(b))
	p.measure(b, func() {
		run(p, p.acquire(alice))
		p.do("DEL %s", p.lock)
	})
}

func BenchmarkRelease(b *testing.B) {
	p := newPlace(b, startServer(b).Client(b))
	p.measure(b, func() {
		p.do("HSET %s %s 1", p.lock, alice)
		run(p, p.release(alice))
	})
}

// BenchmarkRenewBatch renews a hundred holds in one script.
func BenchmarkRenewBatch(b *testing.B) {
	p := newPlace(b, startServer(b).Client(b))
	var locks, ids []string
	var ttls []int64
	for range 100 {
		hold := newPlace(b, p.rdb)
		run(hold, hold.acquire(alice))
		locks, ids, ttls = append(locks, hold.lock), append(ids, alice), append(ttls, lease)
	}
	p.measure(b, func() { run(p, luacall.Renew(locks, ids, ttls)) })
}

func (p *place) measure(b *testing.B, act func()) {
	busy := -p.busy()
	b.ReportAllocs()
	for b.Loop() {
		act()
	}
	busy += p.busy()
	b.ReportMetric(busy/float64(b.N), "server-us/op")
}

// busy returns the microseconds that Redis has spent on scripts so far.
func (p *place) busy() float64 {
	text, err := p.rdb.Info(context.Background(), "commandstats").Result()
	require.NoError(p.t, err)
	_, line, found := strings.Cut(text, "cmdstat_evalsha:")
	if !found {
		return 0
	}
	var calls, microseconds int64
	_, err = fmt.Sscanf(line, "calls=%d,usec=%d,", &calls, &microseconds)
	require.NoError(p.t, err)
	return float64(microseconds)
}

// BenchmarkThree is three locks that are taken and released together.
func BenchmarkThree(b *testing.B) {
	p := newPlace(b, startServer(b).Client(b))
	all := setOf(p, 3)
	run(p, all.acquire(alice))
	run(p, all.release(alice))
	p.measure(b, func() {
		run(p, all.acquire(alice))
		run(p, all.release(alice))
	})
}
