package report

import (
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/plot"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

// farApart is the factor between the greatest and the least from which bars are drawn by powers of ten.
const farApart = 40

// Bars draws the leading figure of a scenario at one distance.
func Bars(s scenario.Scenario, part Part) string {
	lead, samples := s.Columns[0], part.Samples
	chart := plot.BarChart{Title: s.Title + ", " + part.name(), Unit: lead.Head + ", less is better"}
	if lead.MoreIsBetter() {
		chart.Unit = lead.Head + ", more is better"
	}
	var least, greatest float64
	for _, name := range s.Contenders {
		v := stats.Median(scenario.Values(samples, name, lead.Figure))
		bar := plot.Bar{Label: name, Value: Number(v), Size: v}
		switch {
		case contender.IsOurs(name):
			bar.Kind = plot.Own
		case contender.Floor(name):
			bar.Kind = plot.Floor
		}
		chart.Bars = append(chart.Bars, bar)
		if v > 0 && (least == 0 || v < least) {
			least = v
		}
		greatest = max(greatest, v)
	}
	if least > 0 && greatest/least > farApart {
		chart.Log, chart.Unit = true, chart.Unit+"; by powers of ten"
	}
	return chart.SVG()
}

// WritePlot writes a drawing to the directory of the results.
func WritePlot(dir, name, svg string) error {
	return os.WriteFile(filepath.Join(dir, name+".svg"), []byte(svg), 0o644)
}
