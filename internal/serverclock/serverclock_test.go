package serverclock

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// answer is one reply: sent and received by our clock, and what the server's clock showed between.
type answer struct{ sent, received, server time.Duration }

func TestServerClocks(t *testing.T) {
	const day = 24 * time.Hour // the servers' clocks are this far ahead by default
	for name, c := range map[string]struct {
		answers []answer
		want    time.Duration // of the server's clock ahead of ours
	}{
		"half of the round trip is each way": {
			[]answer{{10 * ms, 30 * ms, day + 20*ms}}, day},
		"a more precise one is taken": {
			[]answer{{0, 100 * ms, day + 60*ms}, {1 * s, 1*s + 2*ms, day + 1*s + 1*ms}}, day},
		"so is one that is as precise": {
			[]answer{{0, 10 * ms, day + 5*ms}, {1 * s, 1*s + 10*ms, day + 1*s + 8*ms}}, day + 3*ms},
		"a less precise one is not, if it agrees": {
			[]answer{{0, 2 * ms, day + 1*ms}, {1 * s, 1*s + 100*ms, day + 1*s + 95*ms}}, day},
		"unless the precise one has faded": {
			[]answer{{0, 2 * ms, day + 1*ms}, {20 * s, 20*s + 100*ms, day + 20*s + 95*ms}},
			day + 45*ms},
		"a step forth is believed at once": {
			[]answer{{0, 2 * ms, day + 1*ms}, {1 * s, 1*s + 100*ms, 2*day + 1*s + 50*ms}}, 2 * day},
		"and one back": {
			[]answer{{0, 2 * ms, day + 1*ms}, {1 * s, 1*s + 100*ms, 1*s + 50*ms}}, 0},
		"a difference within both slacks is no step": {
			[]answer{{0, 20 * ms, day + 10*ms}, {1 * s, 1*s + 100*ms, day + 1*s + 109*ms}}, day},
		"one beyond them is": {
			[]answer{{0, 20 * ms, day + 10*ms}, {1 * s, 1*s + 100*ms, day + 1*s + 111*ms}},
			day + 61*ms},
		"a reply without a time says nothing": {
			[]answer{{0, 20 * ms, day + 10*ms}, {1 * s, 1*s + 1*ms, 0}}, day},
		"nor does a negative one": {
			[]answer{{0, 20 * ms, day + 10*ms}, {1 * s, 1*s + 1*ms, -5}}, day},
	} {
		t.Run(name, func(t *testing.T) {
			var clocks Clocks
			for _, a := range c.answers {
				clocks.Observe("node", a.sent, a.received, a.server.Microseconds())
			}
			const now, limit = 30 * s, 3 * s
			require.Equal(t, (now + c.want).Microseconds(), clocks.NotAfter("node", now, 0))
			notAfter := clocks.NotAfter("node", now, limit)
			require.Equal(t, (now + c.want + limit).Microseconds(), notAfter)
		})
	}
}

// A node that never answered gets a not-after that it is sure to refuse, and returns its time with the refusal.
func TestServerClocksKnowEachNodeByItself(t *testing.T) {
	var clocks Clocks
	require.Zero(t, clocks.NotAfter("a", s, s))
	require.Zero(t, clocks.NotAfter("a", s, 0))
	clocks.Observe("a", 0, 0, time.Hour.Microseconds())
	require.Equal(t, (time.Hour + s).Microseconds(), clocks.NotAfter("a", s, 0))
	require.Zero(t, clocks.NotAfter("b", s, 0))
	clocks.Observe("b", 0, 0, (2 * time.Hour).Microseconds())
	require.Equal(t, (time.Hour + s).Microseconds(), clocks.NotAfter("a", s, 0))
	require.Equal(t, (2*time.Hour + s).Microseconds(), clocks.NotAfter("b", s, 0))
}

// G4: cleaning up goes on until nothing can arrive late any more, so nothing is left only when the node's clock is past
// the not-after however far off the estimate is.
func TestNothingIsLeftOnlyWhenItIsCertain(t *testing.T) {
	var clocks Clocks
	require.Equal(t, unknown, clocks.Left("node", time.Hour, 1), "nothing is known of it")
	require.Zero(t, clocks.Left("node", time.Hour, 0), "there is no such request")
	clocks.Observe("node", 0, 20*ms, (time.Hour + 10*ms).Microseconds()) // an hour ahead, +-10 ms
	notAfter := (time.Hour + s).Microseconds()
	const us = time.Microsecond
	for now, want := range map[time.Duration]time.Duration{
		0: s + 10*ms + us, s - ms: 11*ms + us, s: 10*ms + us, s + 10*ms: us, s + 10*ms + us: 0, time.Minute: 0,
	} {
		require.Equal(t, want, clocks.Left("node", now, notAfter), "%v", now)
	}
}

// Whatever the delays on the way, the error of the estimate is at most half of some round trip among those of the
// last ten seconds and the newest one.
func TestServerClockIsNeverOffByMoreThanItsSlack(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		offset := time.Duration(random.Int64N(int64(time.Hour)))
		var clocks Clocks
		now := s
		for range 100 {
			out := time.Duration(random.Int64N(int64(200 * ms)))
			back := time.Duration(random.Int64N(int64(200 * ms)))
			clocks.Observe("node", now, now+out+back, (now + out + offset).Microseconds())
			now += out + back
			got := time.Duration(clocks.NotAfter("node", now, 0)) * time.Microsecond
			off := (got - now - offset).Abs()
			require.LessOrEqual(t, off, 200*ms+2*time.Microsecond, "seed %d", seed)
			r := clocks.nodes["node"]
			require.LessOrEqual(t, off, r.slack+2*time.Microsecond, "seed %d", seed)
			now += time.Duration(random.Int64N(int64(3 * s)))
		}
	}
}
