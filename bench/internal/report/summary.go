package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// Summary are the tables of docs/evidence.md: a row for each scenario, which says how many of its goals were met, and
// then a row for each goal that was missed.
type Summary struct {
	places []time.Duration // over which everything was measured
	rows   []string
	missed []string // rows too
	goals  int
}

// Over says over which distances everything is measured, but for what has one of its own.
func (s *Summary) Over(places []time.Duration) { s.places = places }

// Add adds a row. What was measured over a distance of its own that has no place stands at the first one.
func (s *Summary) Add(one scenario.Scenario, parts []Part) {
	lead := one.Columns[0]
	sign := "↓"
	if lead.MoreIsBetter() {
		sign = "↑"
	}
	row := fmt.Sprintf("| %s (`%s`) | %s %s ", one.Title, one.ID, lead.Head, sign)
	for i, place := range s.places {
		at := slices.IndexFunc(parts, func(p Part) bool { return p.Distance == place })
		if i == 0 && len(parts) == 1 && !slices.Contains(s.places, parts[0].Distance) {
			at = 0
		}
		if at < 0 {
			row += "| – | – | – "
			continue
		}
		row += s.of(one, parts[at].Samples)
	}
	goals, met := 0, 0
	for _, part := range parts {
		for _, v := range one.Judge(part.Samples, part.Distance) {
			goals++
			if v.Met {
				met++
				continue
			}
			s.missed = append(s.missed, fmt.Sprintf("| `%s` | %s | %s | %s |",
				one.ID, part.name(), wanted(one, v.Goal), got(v)))
		}
	}
	s.goals += goals
	s.rows = append(s.rows, fmt.Sprintf("%s| %d of %d |", row, met, goals))
}

// of are the three cells of one distance.
func (s *Summary) of(one scenario.Scenario, samples []scenario.Sample) string {
	lead, ours := one.Columns[0], one.Contenders[0]
	values := scenario.Values(samples, ours, lead.Figure)
	best, ratio := "–", "–"
	if name := bestPeer(one, samples); name != "" {
		theirs := scenario.Values(samples, name, lead.Figure)
		best = name + " " + Number(stats.Median(theirs))
		ratio = factor(stats.Ratio(values, theirs))
	}
	return fmt.Sprintf("| %s | %s | %s ", Number(stats.Median(values)), best, ratio)
}

// bestPeer is the library that is ahead in the leading figure, or nothing where ours is alone.
func bestPeer(one scenario.Scenario, samples []scenario.Sample) (best string) {
	lead := one.Columns[0]
	ahead := math.NaN()
	for _, name := range one.Contenders {
		v := stats.Median(scenario.Values(samples, name, lead.Figure))
		switch {
		case contender.IsOurs(name), contender.Floor(name), math.IsNaN(v):
		case math.IsNaN(ahead), lead.MoreIsBetter() && v > ahead, !lead.MoreIsBetter() && v < ahead:
			best, ahead = name, v
		}
	}
	return best
}

// wanted writes a goal as short as a cell of a table has to be.
func wanted(one scenario.Scenario, g scenario.Goal) string {
	text := g.Figure
	if i := slices.IndexFunc(one.Columns, func(c scenario.Column) bool { return c.Figure == g.Figure }); i >= 0 {
		text = one.Columns[i].Head
	}
	if g.Of != one.Contenders[0] {
		text += " of " + g.Of
	}
	relation, bound := "≤", g.AtMost
	if g.AtLeast != 0 {
		relation, bound = "≥", g.AtLeast
	}
	text += fmt.Sprintf(" %s %.4g", relation, bound)
	switch len(g.To) {
	case 0:
	case 1:
		text += " × " + g.To[0]
	default:
		text += " × best peer"
	}
	return text
}

func got(v scenario.Verdict) string {
	if len(v.Goal.To) == 0 && math.Abs(float64(v.Got)) >= 10 {
		return Number(float64(v.Got))
	}
	return factor(float64(v.Got))
}

// factor has three digits below 1 as well: 0.948 is not 0.95, where that is the goal.
func factor(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 99.95:
		return Number(v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Markdown are the tables with what has to stand beside them: the command, and where it was run.
func (s *Summary) Markdown(raw Raw) string {
	var b strings.Builder
	b.WriteString(raw.Provenance())
	fmt.Fprintf(&b, ". ↑: more is better, ↓: less. %d of %d goals met; the missed ones are below.\n\n",
		s.goals-len(s.missed), s.goals)
	b.WriteString("| situation | figure ")
	for _, place := range s.places {
		fmt.Fprintf(&b, "| holdfast, %s | best peer | holdfast / peer ", distance.Name(place))
	}
	b.WriteString("| goals met |\n|---|---" + strings.Repeat("|---|---|---", len(s.places)))
	b.WriteString("|---|\n")
	for _, row := range s.rows {
		b.WriteString(row + "\n")
	}
	if len(s.missed) > 0 {
		b.WriteString("\n| missed | at | goal | reached |\n|---|---|---|---|\n")
		for _, row := range s.missed {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}
