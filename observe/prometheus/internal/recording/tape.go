// Package recording writes down what a Prometheus finds, as a test for promtool.
package recording

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Scope is which metrics are recorded: those that the alerts read.
type Scope map[string]bool

var metricName = regexp.MustCompile(`\bholdfast_\w+`)

// ScopeOf returns the metrics that the alerts of a file read.
func ScopeOf(rules string) (Scope, error) {
	text, err := os.ReadFile(rules)
	if err != nil {
		return nil, err
	}
	read := make(Scope)
	for _, name := range metricName.FindAllString(string(text), -1) {
		read[name] = true
	}
	return read, nil
}

// Tape is what is recorded of one program, which is a target of a Prometheus.
type Tape struct {
	Job, Instance string
	Scope         Scope

	scrapes int
	samples map[string][]float64 // by series; NaN where there was none
}

// Scrape adds a sample to each series, in whole numbers: times have no need for more. Nil stands for a program that
// does not run.
func (p *Tape) Scrape(from prometheus.Gatherer) error {
	p.scrapes++
	if from == nil {
		return nil
	}
	families, err := from.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		name := family.GetName()
		for _, m := range family.GetMetric() {
			h := m.GetHistogram()
			if h == nil {
				p.add(name, m, m.GetCounter().GetValue()+m.GetGauge().GetValue())
				continue
			}
			p.add(name+"_count", m, float64(h.GetSampleCount()))
			for _, b := range h.GetBucket() {
				p.add(name+"_bucket", m, float64(b.GetCumulativeCount()), "le", fmt.Sprint(b.GetUpperBound()))
			}
			p.add(name+"_bucket", m, float64(h.GetSampleCount()), "le", "+Inf")
		}
	}
	return nil
}

func (p *Tape) add(name string, m *dto.Metric, v float64, more ...string) {
	if !p.Scope[name] {
		return
	}
	if p.samples == nil {
		p.samples = make(map[string][]float64)
	}
	key := name + p.labels(m, more...)
	p.samples[key] = append(absent(p.samples[key], p.scrapes-1), math.Round(v))
}

// absent adds what was not there, until there are n samples.
func absent(samples []float64, n int) []float64 {
	for len(samples) < n {
		samples = append(samples, math.NaN())
	}
	return samples
}

// labels are those of a series, with what a Prometheus adds for its target.
func (p *Tape) labels(m *dto.Metric, more ...string) string {
	pairs := []string{fmt.Sprintf("job=%q", p.Job), fmt.Sprintf("instance=%q", p.Instance)}
	for _, pair := range m.GetLabel() {
		pairs = append(pairs, fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()))
	}
	for i := 0; i < len(more); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", more[i], more[i+1]))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// Check is what an expression has at a time: samples of the value 1, with these labels.
type Check struct {
	At   time.Duration
	Expr string
	Ones []string
}

// Test returns a test for promtool: its name, what the tapes have, scraped and evaluated in intervals, and what is
// checked on it.
func Test(name, rules string, interval time.Duration, tapes []*Tape, checks []Check) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: %v\n\ntests:\n  - name: %q\n    interval: %v\n"+
		"    input_series:\n", rules, interval, name, interval)
	for _, p := range tapes {
		for _, s := range p.all() {
			fmt.Fprintf(&b, "      - series: %s\n        values: %s\n", s.name, s.values())
		}
	}
	b.WriteString("    promql_expr_test:\n")
	for _, check := range checks {
		fmt.Fprintf(&b, "      - expr: %s\n        eval_time: %v\n", check.Expr, check.At)
		for i, labels := range check.Ones {
			if i == 0 {
				b.WriteString("        exp_samples:\n")
			}
			fmt.Fprintf(&b, "          - labels: '%s'\n            value: 1\n", labels)
		}
	}
	return b.String()
}

// all returns all series in their order.
func (p *Tape) all() (all []series) {
	for name, samples := range p.samples {
		all = append(all, series{name, absent(samples, p.scrapes)})
	}
	slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.name, b.name) })
	return all
}
