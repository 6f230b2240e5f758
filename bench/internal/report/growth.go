package report

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/bench/internal/plot"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// GrowthTable writes a line for each contender and size.
func GrowthTable(w io.Writer, g scenario.Growth, samples []scenario.Sample) error {
	fmt.Fprintf(w, "\n%s (%s)\n", g.Title, g.ID)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "  \t%s\t", g.Axis)
	for _, c := range g.Columns {
		fmt.Fprintf(t, "%s\t", c.Head)
	}
	fmt.Fprintln(t)
	for _, name := range g.Contenders {
		for _, size := range g.Sizes {
			some := scenario.At(samples, size)
			if len(some) == 0 {
				continue
			}
			fmt.Fprintf(t, "  %s\t%d\t", name, size)
			for _, c := range g.Columns {
				fmt.Fprintf(t, "%s\t", Number(stats.Median(scenario.Values(some, name, c.Figure))))
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
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
