package report

import (
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// Part is a scenario at one distance.
type Part struct {
	Distance time.Duration
	Samples  []scenario.Sample
}

func (p Part) name() string { return distance.Name(p.Distance) }

// PlotName is what a drawing of a part is called: that of the first one is the scenario's own.
func PlotName(id string, part int, d time.Duration) string {
	if part == 0 {
		return id
	}
	return id + "-" + strings.ReplaceAll(distance.Name(d), " ", "")
}
