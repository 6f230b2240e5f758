package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// exchanges has a node answer so many exchanges, each of as many commands as it is given.
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

// defect B8: pipelines are as long as what a node needs beyond the round trip allows, however long that is.
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
	exchanges(&pace, &now, 13, away(trip, 0)) // one of which measures the way
	require.Equal(t, farthest, pace.size)
}

// A way that becomes longer is not taken for slowness for longer than two eras.
func TestTheRoundTripIsLearnedAnew(t *testing.T) {
	now := time.Unix(1, 0)
	pace := newPace(3 * time.Second)
	exchanges(&pace, &now, 20, away(time.Millisecond, 0))
	exchanges(&pace, &now, 5, away(time.Second, 0))
	require.Less(t, pace.size, most)
	exchanges(&pace, &now, 25, away(time.Second, 0))
	require.Equal(t, farthest, pace.size)
}

// What failed at once, as a dial that is refused, is no short way.
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
