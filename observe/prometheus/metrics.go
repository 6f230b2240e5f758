package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/lock"
)

// Metrics are the metrics of the locks of a process. It is a prometheus.Collector, and safe for concurrent use.
type Metrics struct {
	opts  Options
	class func(name string) string

	waits    *prometheus.HistogramVec
	failures *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	holds    *prometheus.HistogramVec
	losses   *prometheus.CounterVec
	renewals *prometheus.CounterVec
	commands *prometheus.HistogramVec
	live     *live
	clients  *clients
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns metrics that are all still zero. Register them once, in a prometheus.Registerer.
func New(opts Options) *Metrics {
	if opts.Buckets == nil {
		opts.Buckets = DefaultBuckets()
	}
	if opts.HoldBuckets == nil {
		opts.HoldBuckets = DefaultHoldBuckets()
	}
	return &Metrics{
		opts:     opts,
		class:    opts.class(),
		waits:    histogram(metrics.Waits, opts.Buckets),
		failures: counter(metrics.Failures),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: metrics.Waiting.Prometheus(), Help: metrics.Waiting.Help}, metrics.Waiting.Labels),
		holds:    histogram(metrics.Holds, opts.HoldBuckets),
		losses:   counter(metrics.Losses),
		renewals: counter(metrics.Renewals),
		commands: histogram(metrics.Commands, opts.Buckets),
		live:     newLive(),
		clients:  newClients(),
	}
}

func counter(m metrics.Metric) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Prometheus(), Help: m.Help}, m.Labels)
}

// desc describes a metric that is collected when it is asked for.
func desc(m metrics.Metric) *prometheus.Desc {
	return prometheus.NewDesc(m.Prometheus(), m.Help, m.Labels, nil)
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.waits, m.failures, m.waiting, m.holds, m.losses, m.live, m.renewals, m.commands, m.clients,
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(to)
	}
}

// beginCall has the counters that an alert asks for begin at zero.
func (m *Metrics) beginCall(of metrics.Series) {
	m.waits.WithLabelValues(values(of, string(lock.OutcomeHeld))...)
	m.failures.WithLabelValues(values(of, string(lock.OutcomeUnavailable))...)
}

// beginHold does the same for what can happen to a hold.
func (m *Metrics) beginHold(of metrics.Series) {
	for _, reason := range metrics.LossReasons() {
		m.losses.WithLabelValues(values(of, reason)...)
	}
	m.renewals.WithLabelValues(values(of, metrics.OK)...)
	m.renewals.WithLabelValues(values(of, metrics.Error)...)
}

// values are the values of the labels of a metric that tells locks apart.
func values(of metrics.Series, more ...string) []string {
	return append([]string{string(of.Store), string(of.Kind), of.Class}, more...)
}
