package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

func sample(name string, round int, rate float64) scenario.Sample {
	return scenario.Sample{Contender: name, Round: round, Figures: measure.Figures{measure.Rate: rate}}
}

var two = scenario.Scenario{
	ID: "two", Title: "Two of them",
	Contenders: []string{contender.Ours, contender.Bsm},
	Columns:    []scenario.Column{{Figure: measure.Rate, Head: "pairs/s"}},
	Goals: []scenario.Goal{
		{Figure: measure.Rate, Of: contender.Ours, To: []string{contender.Bsm}, AtLeast: 1.5},
		{Figure: measure.Rate, Of: contender.Ours, AtMost: 10},
	},
}

func TestATableHasMediansRatiosAndVerdicts(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Table(&b, two, []scenario.Sample{
		sample(contender.Ours, 0, 20_000), sample(contender.Bsm, 0, 10_000),
		sample(contender.Ours, 1, 9_000), sample(contender.Bsm, 1, 4_500),
		sample(contender.Ours, 2, 24_000), sample(contender.Bsm, 2, 10_000),
	}))
	text := b.String()
	require.Contains(t, text, "Two of them (two)")
	require.Regexp(t, `holdfast +20,000 +±37\.5 % +–`, text)
	require.Regexp(t, `bsm/redislock +10,000 +±27\.5 % +2\.00`, text)
	require.Contains(t, text, "met    locks_per_s of holdfast: at least 1.5 times that of bsm/redislock: got 2.00")
	require.Contains(t, text, "missed locks_per_s of holdfast: at most 10: got 20,000")
}

func TestNumbersHaveThreeDigitsThatCount(t *testing.T) {
	for want, v := range map[string]float64{
		"–": math.NaN(), "0.00": 0, "0.93": 0.931, "9.99": 9.99, "10.0": 9.999, "12.3": 12.34,
		"100": 99.96, "1,234": 1234.4, "1,234,567": 1234567, "-1,234": -1234,
	} {
		require.Equal(t, want, Number(v))
	}
}

func TestPlotsAreDrawnOfWhatWasMeasured(t *testing.T) {
	svg := Bars(two, []scenario.Sample{sample(contender.Ours, 0, 20_000), sample(contender.Bsm, 0, 10_000)})
	require.Contains(t, svg, "Two of them")
	require.Contains(t, svg, "20,000")
	require.Contains(t, svg, "bsm/redislock")
}
