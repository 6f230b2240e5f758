package recording

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValuesInTheNotationOfPromtool(t *testing.T) {
	t.Parallel()
	absent := math.NaN()
	for want, samples := range map[string][]float64{
		"5":                 {5},
		"0x2":               {0, 0, 0},
		"0+3x2 7":           {0, 3, 6, 7},
		"_x2 1x1 _x1 9-2x2": {absent, absent, 1, 1, absent, 9, 7, 5},
		"_x1 4":             {absent, 4},
	} {
		assert.Equal(t, want, series{samples: samples}.values())
	}
}
