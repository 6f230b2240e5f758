package zkstore

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Tokens of later changes are higher by all that a process may use in between, and none is beyond the greatest number.
func TestFence(t *testing.T) {
	const base = 1_800_000_000_000_000
	require.EqualValues(t, base+7*tokensEach+tokensEach-1, fence(base, 7))
	require.Greater(t, fence(base, 8)-(tokensEach-1), fence(base, 7))
	require.Less(t, fence(base, 4000<<32), int64(1)<<53, "after 4000 changes of the leader")
	require.Zero(t, fence(math.MaxInt64-10, 1))
	require.Zero(t, fence(base, math.MaxInt64))
}

func TestAbove(t *testing.T) {
	now := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)
	next := above(now.UnixMicro(), now)
	require.GreaterOrEqual(t, next-now.UnixMicro(), leap)
	day := above(next, now.Add(24*time.Hour))
	require.Greater(t, fence(day, 1), fence(next, 1<<32), "a change of the leader a day")
	require.Equal(t, day+leap, above(day, now), "a clock was set back")
	require.Negative(t, above(math.MaxInt64-1, now))
}
