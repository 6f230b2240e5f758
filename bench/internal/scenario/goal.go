package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// Goal is what ours is to reach.
type Goal struct {
	Figure  string
	Of      string   // whose figure
	To      []string // in relation to the best of these; none: the figure itself is bounded
	AtLeast float64  // one of these two is set
	AtMost  float64
	Away    bool `json:",omitempty"` // it is none on loopback

	From time.Duration `json:",omitempty"` // it is none at a shorter distance
}

// Verdict is what became of a goal.
type Verdict struct {
	Goal Goal   `json:"goal"`
	Got  Number `json:"got"`
	Met  bool   `json:"met"`
}

// Number is a figure that may be undefined, as a ratio to nothing is: null in JSON.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Judge compares the samples of one scenario with its goals over a distance.
func (s Scenario) Judge(samples []Sample, d time.Duration) []Verdict {
	var verdicts []Verdict
	for _, g := range s.Goals {
		if g.Away && d == 0 || d < g.From {
			continue
		}
		got := g.got(samples)
		met := got <= g.AtMost
		if g.AtLeast != 0 {
			met = got >= g.AtLeast
		}
		verdicts = append(verdicts, Verdict{Goal: g, Got: Number(got), Met: met})
	}
	return verdicts
}

// got is the figure, or its ratio to the best of the others, which is the one that looks worst for us.
func (g Goal) got(samples []Sample) float64 {
	ours := Values(samples, g.Of, g.Figure)
	if len(g.To) == 0 {
		return stats.Median(ours)
	}
	worst := math.NaN()
	for _, name := range g.To {
		r := stats.Ratio(ours, Values(samples, name, g.Figure))
		switch {
		case math.IsNaN(r):
		case math.IsNaN(worst), g.AtLeast != 0 && r < worst, g.AtLeast == 0 && r > worst:
			worst = r
		}
	}
	return worst
}

// String says what is wanted.
func (g Goal) String() string {
	relation, bound := "at most", g.AtMost
	if g.AtLeast != 0 {
		relation, bound = "at least", g.AtLeast
	}
	text := fmt.Sprintf("%s of %s: %s %.4g", g.Figure, g.Of, relation, bound)
	if len(g.To) > 0 {
		best := "that of "
		if len(g.To) > 1 {
			best = "the best of "
		}
		text += " times " + best + strings.Join(g.To, ", ")
	}
	return text
}

// Values are a contender's values of a figure, by round.
func Values(samples []Sample, name, figure string) []float64 {
	var values []float64
	for _, s := range samples {
		if s.Contender != name {
			continue
		}
		for len(values) <= s.Round {
			values = append(values, math.NaN())
		}
		if v, ok := s.Figures[figure]; ok {
			values[s.Round] = v
		}
	}
	for _, v := range values {
		if !math.IsNaN(v) {
			return values
		}
	}
	return nil
}
