package stats

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.True(t, math.IsNaN(Median(nil)), "of nothing there is none")
	require.Equal(t, 7.0, Median([]float64{7}))
	require.Equal(t, 2.0, Median([]float64{9, 1, 2}))
	require.Equal(t, 2.5, Median([]float64{9, 2, 1, 3}))
	values := []float64{3, 1, 2}
	Median(values)
	require.Equal(t, []float64{3, 1, 2}, values, "what is given stays in its order")
}

func TestSpread(t *testing.T) {
	require.InDelta(t, 1.5, Spread([]float64{2, 1, 4}), 1e-9)
	require.True(t, math.IsNaN(Spread(nil)))
}

func TestARatioIsOfRoundsAndNotOfMedians(t *testing.T) {
	// The machine was three times as fast in the second round; both contenders gained.
	ours, theirs := []float64{20, 60, 21}, []float64{10, 30, 10}
	require.InDelta(t, 2.0, Ratio(ours, theirs), 1e-9)
	require.InDelta(t, 2.0, Ratio(ours[:2], theirs), 1e-9, "rounds that one of them lacks are left out")
	require.True(t, math.IsNaN(Ratio([]float64{1}, []float64{0})))
	require.InDelta(t, 3.0, Ratio([]float64{1, 6}, []float64{math.NaN(), 2}), 1e-9)
}

func TestPercentile(t *testing.T) {
	require.Zero(t, Percentile(nil, 0.5))
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	require.Equal(t, time.Duration(50), Percentile(hundred, 0.5))
	require.Equal(t, time.Duration(99), Percentile(hundred, 0.99))
	require.Equal(t, time.Duration(100), Percentile(hundred, 1))
	require.Equal(t, time.Duration(1), Percentile(hundred, 0))
	require.Equal(t, time.Duration(1), Percentile(hundred[:1], 0.99))
}
