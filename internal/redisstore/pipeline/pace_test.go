package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// exchanges simulates n exchanges with the node, each with as many commands as pace allows.
func exchanges(c *pace, now *time.Time, n int, takes func(size int) time.Duration) {
	for range n {
		size := c.next(*now)
		took := takes(size)
		*now = now.Add(took)
		c.note(*now, took, size, true)
	}
}

func away(trip, each time.Duration) func(size int) time.Duration {
	return func(size int) time.Duration { return trip + time.Duration(size)*each }
}

// defect B8: pipelines are as long as the time beyond the round trip allows, however long the round trip is.
func TestPipelinesAreSizedByWhatIsBeyondTheRoundTrip(t *testing.T) {
	const limit = 3 * time.Second
	for name, c := range map[string]struct {
		trip, each time.Duration
		least, top int
	}{
		"on one machine":             {50 * time.Microsecond, 10 * time.Microsecond, most, most},
		"25 ms away":                 {25 * time.Millisecond, 10 * time.Microsecond, farthest, farthest},
		"220 ms away":                {220 * time.Millisecond, 10 * time.Microsecond, farthest, farthest},
		"2 s away":                   {2 * time.Second, 10 * time.Microsecond, farthest, farthest},
		"away, and slow":             {220 * time.Millisecond, 5 * time.Millisecond, 16, 128},
		"slow":                       {time.Millisecond, 20 * time.Millisecond, 8, 32},
		"slower than is good at all": {time.Millisecond, 2 * time.Second, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1, 0)
			pace := newPace(limit)
			exchanges(&pace, &now, 40, away(c.trip, c.each))
			require.GreaterOrEqual(t, pace.size, c.least)
			require.LessOrEqual(t, pace.size, c.top)
		})
	}
}

// defect B8: a stall makes pipelines shorter for the time being.
func TestPipelinesRecoverFromAStall(t *testing.T) {
	now := time.Unix(1, 0)
	pace := newPace(3 * time.Second)
	trip := 25 * time.Millisecond
	exchanges(&pace, &now, 20, away(trip, 0))
	exchanges(&pace, &now, 12, away(trip+400*time.Millisecond, 0))
	require.Equal(t, 1, pace.size)
	exchanges(&pace, &now, 13, away(trip, 0)) // one of which measures the round trip
	require.Equal(t, farthest, pace.size)
}

// A round trip that becomes longer is mistaken for slowness for two eras at most.
func TestTheRoundTripIsLearnedAnew(t *testing.T) {
	now := time.Unix(1, 0)
	pace := newPace(3 * time.Second)
	exchanges(&pace, &now, 20, away(time.Millisecond, 0))
	exchanges(&pace, &now, 5, away(time.Second, 0))
	require.Less(t, pace.size, most)
	exchanges(&pace, &now, 25, away(time.Second, 0))
	require.Equal(t, farthest, pace.size)
}

// A failure at once, such as a refused dial, is no short round trip.
func TestAFailureIsNoRoundTrip(t *testing.T) {
	now := time.Unix(1, 0)
	pace := newPace(3 * time.Second)
	exchanges(&pace, &now, 3, away(500*time.Millisecond, 0))
	size := pace.size
	pace.note(now, time.Microsecond, 1, false)
	require.Equal(t, size, pace.size)
	exchanges(&pace, &now, 1, away(500*time.Millisecond, 0))
	require.Greater(t, pace.size, size)
}
