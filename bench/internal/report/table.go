// Package report tells the results: as a text table, as JSON with every raw figure, as plots.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// Group is a scenario with what was measured: contenders that are compared with one another.
type Group struct {
	Scenario scenario.Scenario
	Parts    []Part
}

// Table writes one scenario: a line for each contender with the medians of its rounds, the ratio of ours
// to it in the first column's figure, and what became of the goals. Every column has a value for each distance.
// Several groups have the title, the columns and the distances of the first one.
func Table(w io.Writer, groups ...Group) error {
	first := groups[0]
	fmt.Fprintf(w, "\n%s (%s)\n", first.Scenario.Title, first.Scenario.ID)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(row []string) { fmt.Fprintf(t, "  %s\t\n", strings.Join(row, "\t")) }
	heads := heads(first.Scenario, first.Parts)
	for _, row := range heads {
		line(row)
	}
	for i, g := range groups {
		if i > 0 {
			line(make([]string, len(heads[0])))
		}
		for _, row := range rows(g.Scenario, g.Parts) {
			line(row)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, g := range groups {
		verdicts(w, g.Scenario, g.Parts)
	}
	return nil
}

// verdicts says what did not count, and what became of the goals.
func verdicts(w io.Writer, s scenario.Scenario, parts []Part) {
	for _, part := range parts {
		for _, one := range part.Samples {
			if one.Figures[measure.Stuck] != 0 {
				fmt.Fprintf(w, "  stuck  %s: %s: a waiter was never woken in round %d, which does not count\n",
					part.name(), one.Contender, one.Round+1)
			}
		}
		for _, v := range s.Judge(part.Samples, part.Distance) {
			sign := "missed"
			if v.Met {
				sign = "met"
			}
			fmt.Fprintf(w, "  %-6s %s: %s: got %s\n", sign, part.name(), v.Goal, Number(float64(v.Got)))
		}
	}
}

// heads are two lines: what, and over which distance.
func heads(s scenario.Scenario, parts []Part) [][]string {
	what, where := []string{""}, []string{""}
	for _, c := range columns(s, parts) {
		what = append(append(what, c.Head), make([]string, len(parts)-1)...)
	}
	what = append(append(what, "ours/this"), make([]string, len(parts)-1)...)
	for range (len(what) - 1) / len(parts) {
		for i, part := range parts {
			where = append(where, beside(i, part.name()))
		}
	}
	return [][]string{what, where}
}

func rows(s scenario.Scenario, parts []Part) (all [][]string) {
	for _, name := range s.Contenders {
		row := []string{name}
		for _, c := range columns(s, parts) {
			for i, part := range parts {
				row = append(row, beside(i, c.of(part, name)))
			}
		}
		for i, part := range parts {
			row = append(row, beside(i, ratio(s, part, name)))
		}
		all = append(all, row)
	}
	return all
}

// beside sets off what is of a further distance.
func beside(part int, text string) string {
	if part == 0 {
		return text
	}
	return "| " + text
}

// column is one of a scenario's, or one that all tables have.
type column struct {
	scenario.Column
	of func(p Part, contender string) string
}

func columns(s scenario.Scenario, parts []Part) []column {
	var all []column
	add := func(c scenario.Column) {
		all = append(all, column{c, func(p Part, name string) string {
			return Number(stats.Median(scenario.Values(p.Samples, name, c.Figure)))
		}})
	}
	for _, c := range s.Columns {
		add(c)
	}
	if slices.ContainsFunc(parts, func(p Part) bool { return p.Distance > 0 }) {
		add(scenario.Column{Figure: measure.Late, Head: "relay late µs"})
	}
	return append(all, column{scenario.Column{Head: "spread"}, func(p Part, name string) string {
		return "±" + Number(50*stats.Spread(scenario.Values(p.Samples, name, s.Columns[0].Figure))) + " %"
	}})
}

// ratio is that of ours to a contender's leading figure.
func ratio(s scenario.Scenario, p Part, name string) string {
	if contender.IsOurs(name) {
		return "–"
	}
	lead := s.Columns[0].Figure
	ours := scenario.Values(p.Samples, s.Contenders[0], lead)
	return Number(stats.Ratio(ours, scenario.Values(p.Samples, name, lead)))
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
