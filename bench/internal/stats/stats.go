// Package stats is the arithmetic of the reports: medians, percentiles, ratios.
package stats

import (
	"math"
	"slices"
	"time"
)

// Median is the middle of the values, or the mean of the two in the middle. NaN is no value; it is NaN if there are no
// others.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(known(values)))
	if len(sorted) == 0 {
		return math.NaN()
	}
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Spread is how far the values lie apart: (greatest - least) / median.
func Spread(values []float64) float64 {
	values = known(values)
	if len(values) == 0 {
		return math.NaN()
	}
	return (slices.Max(values) - slices.Min(values)) / Median(values)
}

// known leaves out NaN.
func known(values []float64) []float64 { return slices.DeleteFunc(slices.Clone(values), math.IsNaN) }

// Ratio is the median of the quotients of two contenders' values of the same rounds. The rounds of
// contenders are interleaved, so what the machine did meanwhile to both falls out of a quotient; it
// does not fall out of two medians.
func Ratio(of, to []float64) float64 {
	var quotients []float64
	for i := range min(len(of), len(to)) {
		if to[i] != 0 && !math.IsNaN(of[i]) && !math.IsNaN(to[i]) {
			quotients = append(quotients, of[i]/to[i])
		}
	}
	return Median(quotients)
}

// Percentile is the value that a share (0 to 1) of sorted durations does not exceed.
func Percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}
