package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/internal/metrics"
)

// live collects the holds that are live, and the age of the oldest.
type live struct {
	metrics.Live
	held, oldest *prometheus.Desc
}

func newLive() *live { return &live{held: desc(metrics.Held), oldest: desc(metrics.OldestHold)} }

// Describe implements prometheus.Collector.
func (l *live) Describe(to chan<- *prometheus.Desc) {
	to <- l.held
	to <- l.oldest
}

// Collect implements prometheus.Collector.
func (l *live) Collect(to chan<- prometheus.Metric) {
	for _, s := range l.States() {
		gauge := func(desc *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, values(s.Series)...)
		}
		gauge(l.held, float64(s.Held))
		gauge(l.oldest, s.Oldest.Seconds())
	}
}
