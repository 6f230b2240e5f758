package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

func sample(name string, round int, rate float64) scenario.Sample {
	return scenario.Sample{Contender: name, Round: round, Figures: measure.Figures{measure.Rate: rate}}
}

func loopback(samples ...scenario.Sample) []Part { return []Part{{Samples: samples}} }

func group(s scenario.Scenario, samples ...scenario.Sample) Group {
	return Group{s, loopback(samples...)}
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
	require.NoError(t, Table(&b, group(two,
		sample(contender.Ours, 0, 20_000), sample(contender.Bsm, 0, 10_000),
		sample(contender.Ours, 1, 9_000), sample(contender.Bsm, 1, 4_500),
		sample(contender.Ours, 2, 24_000), sample(contender.Bsm, 2, 10_000),
	)))
	text := b.String()
	require.Contains(t, text, "Two of them (two)")
	require.Regexp(t, `holdfast +20,000 +±37\.5 % +–`, text)
	require.Regexp(t, `bsm/redislock +10,000 +±27\.5 % +2\.00`, text)
	require.Contains(t, text, "met    loopback: locks_per_s of holdfast: at least 1.5 times that of bsm/redislock: got 2.00")
	require.Contains(t, text, "missed loopback: locks_per_s of holdfast: at most 10: got 20,000")
}

// A round in which a peer's waiter was never woken is told, and does not count; the others do.
func TestATableSaysWhoWasStuck(t *testing.T) {
	var b strings.Builder
	stuck := sample(contender.Bsm, 0, 0)
	stuck.Figures = measure.Figures{measure.Stuck: 1}
	require.NoError(t, Table(&b, group(two,
		sample(contender.Ours, 0, 20_000), stuck,
		sample(contender.Ours, 1, 9_000), sample(contender.Bsm, 1, 4_500),
	)))
	text := b.String()
	require.Contains(t, text, "stuck  loopback: bsm/redislock: a waiter was never woken in round 1, which does not count")
	require.Regexp(t, `bsm/redislock +4,500 +±0\.00 % +2\.00`, text)
	require.Contains(t, text, "met    loopback: locks_per_s of holdfast: at least 1.5 times that of bsm/redislock: got 2.00")
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
	svg := Bars(two, loopback(sample(contender.Ours, 0, 20_000), sample(contender.Bsm, 0, 10_000))[0])
	require.Contains(t, svg, "Two of them, loopback")
	require.Contains(t, svg, "20,000")
	require.Contains(t, svg, "bsm/redislock")
}

func TestTheSummaryHasARowForEachScenarioAndEveryGoalInIt(t *testing.T) {
	three := two
	three.Contenders = []string{contender.Ours, contender.Bsm, contender.Redsync, contender.Scripts}
	three.Goals = append(three.Goals[:1:1], scenario.Goal{
		Figure: measure.Rate, Of: contender.Ours, To: []string{contender.Bsm, contender.Redsync}, AtLeast: 1.5,
	})
	alone := scenario.Scenario{
		ID: "alone", Title: "Alone", Contenders: []string{contender.OursFair},
		Columns: []scenario.Column{{Figure: measure.P50, Head: "p50 µs"}},
		Goals:   []scenario.Goal{{Figure: measure.Sends, Of: contender.OursFair, AtMost: 6.1}},
	}
	var s Summary
	s.Over([]time.Duration{0})
	s.Add(three, loopback(
		sample(contender.Ours, 0, 20_000), sample(contender.Bsm, 0, 10_000),
		sample(contender.Redsync, 0, 16_000), sample(contender.Scripts, 0, 50_000),
	))
	s.Add(alone, loopback(scenario.Sample{Contender: contender.OursFair, Figures: measure.Figures{measure.P50: 12}}))
	text := s.Markdown(Raw{Command: "go run .", Modules: map[string]string{
		"github.com/go-redsync/redsync/v4": "v4.1.0", "github.com/bsm/redislock": "v0.2.0",
	}})
	require.Contains(t, text, "`cd bench && go run .`")
	require.Contains(t, text, "redislock v0.2.0, redsync v4.1.0. ")
	require.Contains(t, text, "1 of 3 goals met")
	require.Contains(t, text, "| Two of them (`two`) | pairs/s ↑ | 20,000 | redsync 16,000 | 1.25 "+
		"| 1 of 2 |\n", "a floor is no peer")
	require.Contains(t, text, "| Alone (`alone`) | p50 µs ↓ | 12.0 | – | – | 0 of 1 |\n")
	require.Contains(t, text, "| `two` | loopback | pairs/s ≥ 1.5 × best peer | 1.25 |\n")
	require.Contains(t, text, "| `alone` | loopback | sends ≤ 6.1 | – |\n", "what was not measured was not reached")
}

func TestAFactorThatIsBelowItsGoalDoesNotLookAsIfItWereNot(t *testing.T) {
	for want, v := range map[string]float64{"0.948": 0.948, "1.25": 1.2471, "–": math.NaN(), "1,234": 1234} {
		require.Equal(t, want, factor(v))
	}
}

func TestRawFiguresKeepSixDigits(t *testing.T) {
	require.InDelta(t, 12066.7, sixDigits(12066.666666666668), 1e-9)
	require.InDelta(t, 0.000123457, sixDigits(0.000123456789), 1e-12)
}

// Both distances stand side by side, and a goal counts where it is meant.
func TestDistancesStandSideBySide(t *testing.T) {
	one := two
	one.Goals = []scenario.Goal{
		{Figure: measure.Rate, Of: contender.Ours, To: []string{contender.Bsm}, AtLeast: 3, Away: true},
		{Figure: measure.Rate, Of: contender.Ours, To: []string{contender.Bsm}, AtLeast: 1},
	}
	parts := []Part{
		{300 * time.Microsecond, []scenario.Sample{sample(contender.Ours, 0, 2_000), sample(contender.Bsm, 0, 1_000)}},
		{0, []scenario.Sample{sample(contender.Ours, 0, 20_000), sample(contender.Bsm, 0, 16_000)}},
	}
	var b strings.Builder
	require.NoError(t, Table(&b, Group{one, parts}))
	require.Regexp(t, `0\.3 ms +\| loopback`, b.String())
	require.Regexp(t, `bsm/redislock +1,000 +\| 16,000 .* 2\.00 +\| 1\.25`, b.String())
	require.Contains(t, b.String(), "missed 0.3 ms: locks_per_s of holdfast: at least 3 times")
	require.Contains(t, b.String(), "met    loopback: locks_per_s of holdfast: at least 1 times")
	require.NotContains(t, b.String(), "loopback: locks_per_s of holdfast: at least 3 times")
	var s Summary
	s.Over([]time.Duration{300 * time.Microsecond, 0})
	s.Add(one, parts)
	require.Contains(t, s.Markdown(Raw{}), "| holdfast, 0.3 ms | best peer | holdfast / peer | holdfast, loopback |")
	require.Contains(t, s.Markdown(Raw{}), "| 2,000 | bsm/redislock 1,000 | 2 | 20,000 | bsm/redislock 16,000 | 1.25 "+
		"| 2 of 3 |\n\n| missed | at | goal | reached |\n|---|---|---|---|\n"+
		"| `two` | 0.3 ms | pairs/s ≥ 3 × bsm/redislock | 2 |\n")
	require.Equal(t, "two", PlotName("two", 0, parts[0].Distance))
	require.Equal(t, "two-loopback", PlotName("two", 1, 0))
	require.Equal(t, "two-20ms", PlotName("two", 1, 20*time.Millisecond))
}

// What is measured over a distance of its own has a row as wide as the others.
func TestARowOfADistanceOfItsOwnStandsInOnePlace(t *testing.T) {
	var s Summary
	s.Over([]time.Duration{300 * time.Microsecond, 0})
	samples := []scenario.Sample{sample(contender.Ours, 0, 2_000), sample(contender.Bsm, 0, 1_000)}
	s.Add(two, []Part{{20 * time.Millisecond, samples}})
	require.Contains(t, s.Markdown(Raw{}), "| 2,000 | bsm/redislock 1,000 | 2 | – | – | – | 1 of 2 |")
	s.Add(two, []Part{{0, samples}})
	require.Contains(t, s.Markdown(Raw{}), "| – | – | – | 2,000 | bsm/redislock 1,000 | 2 | ")
}
