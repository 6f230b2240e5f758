package otel

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-go/holdfast/internal/metrics"
)

// instruments makes instruments of metrics, and gathers the errors of the meter.
type instruments struct {
	meter metric.Meter
	errs  []error
}

// check adds an error, and passes an instrument on.
func check[T any](m *instruments, made T, err error) T {
	if err != nil {
		m.errs = append(m.errs, err)
	}
	return made
}

func (m *instruments) histogram(of metrics.Metric, buckets []float64) metric.Float64Histogram {
	made, err := m.meter.Float64Histogram(of.Telemetry(), metric.WithUnit(of.Unit), metric.WithDescription(of.Help),
		metric.WithExplicitBucketBoundaries(buckets...))
	return check(m, made, err)
}

func (m *instruments) counter(of metrics.Metric) metric.Int64Counter {
	made, err := m.meter.Int64Counter(of.Telemetry(), metric.WithUnit(of.Unit), metric.WithDescription(of.Help))
	return check(m, made, err)
}

func (m *instruments) upDownCounter(of metrics.Metric) metric.Int64UpDownCounter {
	made, err := m.meter.Int64UpDownCounter(of.Telemetry(), metric.WithUnit(of.Unit), metric.WithDescription(of.Help))
	return check(m, made, err)
}

func (m *instruments) gauge(of metrics.Metric) metric.Int64ObservableGauge {
	made, err := m.meter.Int64ObservableGauge(of.Telemetry(), metric.WithUnit(of.Unit), metric.WithDescription(of.Help))
	return check(m, made, err)
}

func (m *instruments) seconds(of metrics.Metric) metric.Float64ObservableGauge {
	made, err := m.meter.Float64ObservableGauge(
		of.Telemetry(), metric.WithUnit(of.Unit), metric.WithDescription(of.Help))
	return check(m, made, err)
}

// observe measures the holds that are live, whenever the metrics are collected.
func (m *instruments) observe(live *metrics.Live) {
	made, err := m.meter.Int64ObservableUpDownCounter(metrics.Held.Telemetry(),
		metric.WithUnit(metrics.Held.Unit), metric.WithDescription(metrics.Held.Help))
	held := check(m, made, err)
	oldest := m.seconds(metrics.OldestHold)
	registered, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, s := range live.States() {
			o.ObserveInt64(held, int64(s.Held), labels(s.Series))
			o.ObserveFloat64(oldest, s.Oldest.Seconds(), labels(s.Series))
		}
		return nil
	}, held, oldest)
	check(m, registered, err)
}

// observeClients measures the clients that are tracked, whenever the metrics are collected.
func (m *instruments) observeClients(clients *metrics.Clients) {
	validity, kept := m.seconds(metrics.LeastValidity), m.gauge(metrics.Kept)
	due, owed := m.gauge(metrics.RenewalsDue), m.gauge(metrics.ReleasesOwed)
	made, err := m.meter.Int64ObservableCounter(metrics.EventsDropped.Telemetry(),
		metric.WithUnit(metrics.EventsDropped.Unit), metric.WithDescription(metrics.EventsDropped.Help))
	dropped := check(m, made, err)
	registered, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for of, sum := range clients.Sums() {
			store := metric.WithAttributes(keyStore.String(string(of)))
			if sum.Holds > 0 {
				o.ObserveFloat64(validity, sum.LeastValidity.Seconds(), store)
			}
			o.ObserveInt64(kept, int64(sum.Kept), store)
			o.ObserveInt64(due, int64(sum.RenewalsDue), store)
			o.ObserveInt64(owed, int64(sum.ReleasesOwed), store)
			o.ObserveInt64(dropped, sum.Coalesced, store)
		}
		return nil
	}, validity, kept, due, owed, dropped)
	check(m, registered, err)
}
