package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/bench/internal/plot"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// growthRows has a head, and a row for each contender and size.
func growthRows(g scenario.Growth, samples []scenario.Sample) [][]string {
	head := []string{"", g.Axis}
	for _, c := range g.Columns {
		head = append(head, c.Head)
	}
	rows := [][]string{head}
	for _, name := range g.Contenders {
		for _, size := range g.Sizes {
			some := scenario.At(samples, size)
			if len(some) == 0 {
				continue
			}
			row := []string{name, whole(size)}
			for _, c := range g.Columns {
				row = append(row, Number(stats.Median(scenario.Values(some, name, c.Figure))))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// GrowthTable writes a line for each contender and size.
func GrowthTable(w io.Writer, g scenario.Growth, samples []scenario.Sample) error {
	fmt.Fprintf(w, "\n%s (%s)\n", g.Title, g.ID)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range growthRows(g, samples) {
		fmt.Fprintf(t, "  %s\t\n", strings.Join(row, "\t"))
	}
	return t.Flush()
}

// GrowthMarkdown is the same table for SCALING.md.
func GrowthMarkdown(g scenario.Growth, samples []scenario.Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s (`%s`)\n\n", g.Title, g.ID)
	for i, row := range growthRows(g, samples) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String() + "\n"
}

// Curves draws the leading figures of a growing situation, a drawing for each.
func Curves(g scenario.Growth, samples []scenario.Sample) (drawings []string) {
	for _, c := range g.Columns[:g.Drawn] {
		chart := plot.Chart{Title: g.Title, X: g.Axis, Y: c.Head, LogY: g.LogY}
		for _, name := range g.Contenders {
			curve := plot.Curve{Label: name}
			for _, size := range g.Sizes {
				v := stats.Median(scenario.Values(scenario.At(samples, size), name, c.Figure))
				if !math.IsNaN(v) {
					curve.Points = append(curve.Points, plot.Point{X: float64(size), Y: v})
				}
			}
			chart.Curves = append(chart.Curves, curve)
		}
		drawings = append(drawings, chart.SVG())
	}
	return drawings
}
