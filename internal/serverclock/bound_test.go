package serverclock

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(d time.Duration) Instant { return Instant{Mono: d, Wall: d} }

const (
	hour = time.Hour // the server's clock is so far ahead of ours
	tick = 10 * ms
)

// grant is one of two seconds that the server made when it showed an hour and at.
func grant(at time.Duration) Span {
	return Span{From: (hour + at).Microseconds(), End: (hour + at + 2*s).Microseconds()}
}

func TestAGrantIsBelievedOnlyWhileItSurelyStands(t *testing.T) {
	answered := func(b *Bound, sent, received, server time.Duration) {
		b.Observe("a", at(sent), at(received), (hour + server).Microseconds())
	}
	for name, c := range map[string]struct {
		answers func(b *Bound)
		now     Instant
		grant   Span
		until   time.Duration // 0: not relied on
	}{
		"nothing is known of the server": {func(*Bound) {}, at(10 * s), grant(10 * s), 0},
		"a message at once": {
			func(b *Bound) { answered(b, 10*s, 10*s, 10*s) }, at(10 * s), grant(10 * s), 12*s - 52*ms},
		"what the way of the last answer took is lost": {
			func(b *Bound) { answered(b, 10*s, 10*s+100*ms, 10*s+50*ms) }, at(10*s + 100*ms), grant(10*s + 90*ms),
			12*s + 90*ms - 50*ms - 52*ms - ms},
		"and a hundredth of what has passed since": {
			func(b *Bound) { answered(b, 10*s, 10*s, 10*s) }, at(11 * s), grant(11 * s), 13*s - 10*ms - 52*ms},
		"a message that is late": {
			func(b *Bound) { answered(b, 10*s, 10*s, 10*s) }, at(10*s + 500*ms), grant(10 * s), 12*s - 5*ms - 52*ms},
		"half of it has passed": {
			func(b *Bound) { answered(b, 10*s, 10*s, 10*s) }, at(11 * s), grant(10 * s), 0},
		"a message that is later than the grant stands": {
			func(b *Bound) { answered(b, 12*s, 12*s, 12*s) }, at(12*s + 10*ms), grant(10 * s), 0},
		"a message of a time to come: the server's clock was set forward": {
			func(b *Bound) { answered(b, 10*s, 10*s, 10*s) }, at(10*s + 10*ms), grant(11 * s), 0},
		"the last answer is as old as the grant is long": {
			func(b *Bound) { answered(b, 8*s, 8*s, 8*s) }, at(10 * s), grant(10 * s), 0},
		"the machine was suspended meanwhile": {
			func(b *Bound) { answered(b, 10*s, 10*s, 10*s) }, Instant{Mono: 10*s + 10*ms, Wall: 11*s + 500*ms},
			grant(10 * s), 0},
		"the server's clock was set back": {
			func(b *Bound) {
				answered(b, 10*s, 10*s, 10*s)
				answered(b, 12*s, 12*s, 2*s)
			}, at(12*s + 10*ms), grant(10 * s), 0},
		"a newer answer that took long says nothing": {
			func(b *Bound) {
				answered(b, 10*s, 10*s, 10*s)
				answered(b, 10*s+10*ms, 11*s, 11*s)
			}, at(11 * s), grant(11 * s), 13*s - 10*ms - 52*ms},
		"nor does an older one that comes later": {
			func(b *Bound) {
				answered(b, 10*s, 10*s, 10*s)
				answered(b, 9*s, 9*s, 19*s)
			}, at(10 * s), grant(10 * s), 12*s - 52*ms},
		"another server's clock does not matter": {
			func(b *Bound) {
				answered(b, 10*s, 10*s, 10*s)
				b.Observe("b", at(10*s), at(10*s), (hour + 12*s).Microseconds())
			}, at(10 * s), grant(10 * s), 12*s - 52*ms},
		"another server has answered, whose clock is behind": {
			func(b *Bound) { b.Observe("b", at(10*s), at(10*s), (hour + 9*s).Microseconds()) },
			at(10 * s), grant(8500 * ms), 0},
		"and the one that took over has not since": {
			func(b *Bound) {
				answered(b, 7*s, 7*s, 7*s)
				b.Observe("b", at(10*s), at(10*s), (hour + 10*s).Microseconds())
			}, at(10 * s), grant(10 * s), 0},
		"the server did not say which it is": {
			func(b *Bound) { b.Observe("", at(10*s), at(10*s), (hour + 10*s).Microseconds()) },
			at(10 * s), grant(10 * s), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b Bound
			c.answers(&b)
			until, since, ok := b.Until("a", c.now, c.grant, tick)
			require.Equal(t, c.until != 0, ok)
			require.Equal(t, c.until, until)
			if ok {
				require.LessOrEqual(t, since, c.now.Mono)
			}
		})
	}
}

// A server that does not answer any more is forgotten: addresses that come and go leave nothing behind.
func TestBoundsAreForgotten(t *testing.T) {
	var b Bound
	b.Observe("a", at(s), at(s), 1)
	b.Observe("b", at(s+forgets), at(s+forgets), 1)
	require.Len(t, b.servers, 2)
	b.Observe("b", at(2*s+forgets), at(2*s+forgets), 1)
	require.Len(t, b.servers, 1)
}

// Whatever the delays of answers and of the message, and however the server's clock runs and is set back: what is
// relied on is over before the grant is.
func TestWhatIsBelievedStands(t *testing.T) {
	believed := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 2))
		draw := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
		speed := 1 + (random.Float64()-0.5)/60 // of the server's clock
		var b Bound
		now, server := s, hour // both at one moment
		pass := func(d time.Duration) {
			now += d
			server += time.Duration(float64(d) * speed)
		}
		step := func() {
			if random.IntN(8) == 0 {
				server -= draw(3 * s)
			}
		}
		answer := func() {
			sent := now
			pass(draw(50 * ms))
			said := server
			pass(draw(50 * ms))
			b.Observe("node", at(sent), at(now), said.Microseconds())
		}
		answer() // the waiter's place: the grant is made after it
		for range random.IntN(4) {
			pass(draw(s))
			answer()
		}
		span := Span{From: server.Microseconds(), End: (server + 2*s).Microseconds()}
		over := now + time.Duration(float64(2*s)/speed) // setting the clock back makes it later
		for range random.IntN(6) {
			pass(draw(s))
			step()
			if random.IntN(2) == 0 {
				answer()
			}
		}
		if until, since, ok := b.Until("node", at(now), span, tick); ok {
			believed++
			require.Less(t, until, over, "seed %d", seed)
			require.LessOrEqual(t, since, now, "seed %d", seed)
		}
	}
	require.Greater(t, believed, 300)
}
