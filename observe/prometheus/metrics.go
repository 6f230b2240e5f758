package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/lock"
)

// namespace begins the name of every metric.
const namespace = "distributed_lock_"

// The labels.
const (
	labelOutcome = "outcome"
	labelReason  = "reason"
	labelResult  = "result"
	labelKind    = "kind"
	labelClass   = "class"
	labelScript  = "script"
)

// The values of labelResult.
const (
	resultOK    = "ok"
	resultError = "error"
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
	live     *live
	renewals *prometheus.CounterVec
	commands *prometheus.HistogramVec
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
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: namespace + name, Help: help}, labels)
	}
	return &Metrics{
		opts:  opts,
		class: opts.class(),
		waits: prometheus.NewHistogramVec(histogram("wait_seconds",
			"How long calls took to acquire, by how they ended.", opts.Buckets),
			[]string{labelOutcome, labelKind, labelClass}),
		failures: counter("failures_total", "Calls that did not acquire, by reason.",
			labelReason, labelKind, labelClass),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: namespace + "waiting", Help: "Calls that are about to acquire, without those that only try."},
			[]string{labelKind, labelClass}),
		holds: prometheus.NewHistogramVec(histogram("hold_seconds",
			"How long holds lasted that are over, by how they ended.", opts.HoldBuckets),
			[]string{labelOutcome, labelKind, labelClass}),
		losses: counter("losses_total", "Holds that were lost, by reason.", labelReason, labelKind, labelClass),
		live:   newLive(),
		renewals: counter("renewals_total", "Renewals of leases, by whether the store confirmed them.",
			labelResult, labelClass),
		commands: prometheus.NewHistogramVec(histogram("command_seconds",
			"How long the store took to answer a script, as the client saw it.", opts.Buckets),
			[]string{labelScript, labelResult}),
		clients: newClients(),
	}
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
func (m *Metrics) beginCall(kind, class string) {
	m.waits.WithLabelValues(string(lock.OutcomeHeld), kind, class)
	m.failures.WithLabelValues(string(lock.OutcomeUnavailable), kind, class)
}

// beginHold does the same for what can happen to a hold.
func (m *Metrics) beginHold(kind, class string) {
	for _, reason := range []lock.LossReason{lock.LossExpired, lock.LossGone, lock.LossMaxHold} {
		m.losses.WithLabelValues(reason.Label(), kind, class)
	}
	m.renewals.WithLabelValues(resultOK, class)
	m.renewals.WithLabelValues(resultError, class)
}
