package main

import (
	"context"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// grow measures the curves of SCALING.md.
func grow(
	ctx context.Context, s settings, raw *report.Raw, summary *strings.Builder, w, progress io.Writer,
) error {
	for _, g := range scenario.Growths() {
		if !wanted(g.ID, s.only) {
			continue
		}
		samples, err := scenario.Grow(ctx, g, s.scale, progress)
		if err != nil {
			return err
		}
		if err := report.GrowthTable(w, g, samples); err != nil {
			return err
		}
		summary.WriteString(report.GrowthMarkdown(g, samples))
		raw.Scenarios = append(raw.Scenarios, report.Result{ID: g.ID, Title: g.Title, Samples: samples})
		if s.out == "" {
			continue
		}
		for i, svg := range report.Curves(g, samples) {
			name := "scaling-" + g.ID + []string{"", "-2"}[i]
			if err := report.WritePlot(s.out, name, svg); err != nil {
				return err
			}
		}
	}
	return nil
}
