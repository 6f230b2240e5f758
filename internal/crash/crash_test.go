package crash_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
)

func TestStrike(t *testing.T) {
	require.NoError(t, crash.At(crash.Wake), "nobody strikes")
	struck := errors.New("struck")
	var at []crash.Point
	undo := crash.Set(func(p crash.Point) error {
		at = append(at, p)
		return struck
	})
	require.ErrorIs(t, crash.At(crash.Acquire.Send), struck)
	undo()
	require.NoError(t, crash.At(crash.Acquire.Reply))
	require.Equal(t, []crash.Point{"acquire.send"}, at)
}

func TestPointsAreDistinct(t *testing.T) {
	seen := map[crash.Point]bool{}
	for _, p := range crash.Points() {
		require.False(t, seen[p], p)
		seen[p] = true
	}
	require.Len(t, seen, 7+2*7)
}

func TestAPointCostsNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = crash.At(crash.Wake) }))
}
