// Package report tells the results: as a text table, as JSON with every raw figure, as plots.
package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// Table writes one scenario: a line for each contender with the medians of its rounds, the ratio of ours
// to it in the first column's figure, and what became of the goals.
func Table(w io.Writer, s scenario.Scenario, samples []scenario.Sample) error {
	fmt.Fprintf(w, "\n%s (%s)\n", s.Title, s.ID)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "  \t")
	for _, c := range s.Columns {
		fmt.Fprintf(t, "%s\t", c.Head)
	}
	fmt.Fprint(t, "spread\tours/this\t\n")
	lead := s.Columns[0].Figure
	ours := scenario.Values(samples, s.Contenders[0], lead)
	for _, name := range s.Contenders {
		fmt.Fprintf(t, "  %s\t", name)
		for _, c := range s.Columns {
			fmt.Fprintf(t, "%s\t", Number(stats.Median(scenario.Values(samples, name, c.Figure))))
		}
		values := scenario.Values(samples, name, lead)
		ratio := "–"
		if !contender.IsOurs(name) {
			ratio = Number(stats.Ratio(ours, values))
		}
		fmt.Fprintf(t, "±%s %%\t%s\t\n", Number(50*stats.Spread(values)), ratio)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, v := range s.Judge(samples) {
		sign := "missed"
		if v.Met {
			sign = "met"
		}
		fmt.Fprintf(w, "  %-6s %s: got %s\n", sign, v.Goal, Number(float64(v.Got)))
	}
	return nil
}

// Number writes a figure with three digits that count.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 99.95:
		return thousands(fmt.Sprintf("%.0f", v))
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// whole writes a number of things.
func whole(n int) string { return thousands(strconv.Itoa(n)) }

// thousands sets commas.
func thousands(digits string) string {
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), ",")
}
