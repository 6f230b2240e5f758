package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
)

// How many tokens are spare stands in an answer. Whatever it says, none above the newest is lent (defect G12).
func TestNoTokenAboveTheNewestIsLent(t *testing.T) {
	const newest = 1 << 50
	for _, spare := range []int64{0, 5, math.MaxInt16, math.MaxInt16 + 1, 1 << 17, math.MaxInt64, -1, math.MinInt64} {
		g := &Grant{fence: newest}
		g.lendLocked(new(hold.Hold), spare)
		require.GreaterOrEqual(t, g.spare, int16(0), spare)
		require.Equal(t, int64(newest), g.fence+int64(g.spare), spare)
	}
}
