package prometheus

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/lock"
)

// Observer returns what tells the metrics of a client's locks: set it as ClientOptions.Observer, of one client or of
// several. With other observers, join them by lock.JoinObservers.
func (m *Metrics) Observer() *lock.Observer {
	return &lock.Observer{
		Begin: m.begin, End: m.end, Held: m.held, Ended: m.ended, Renewed: m.renewed, Command: m.command,
	}
}

func (m *Metrics) begin(ctx context.Context, call lock.Call) context.Context {
	of := m.series(call)
	m.beginCall(of)
	if !call.Try {
		m.waiting.WithLabelValues(values(of)...).Inc()
	}
	return ctx
}

func (m *Metrics) end(ctx context.Context, call lock.Call, waited time.Duration, err error) {
	of := m.series(call)
	if !call.Try {
		m.waiting.WithLabelValues(values(of)...).Dec()
	}
	outcome := values(of, string(lock.OutcomeOf(err)))
	m.observe(ctx, m.waits.WithLabelValues(outcome...), waited)
	if err != nil {
		m.failures.WithLabelValues(outcome...).Inc()
	}
}

func (m *Metrics) held(ctx context.Context, call lock.Call) context.Context {
	of := m.series(call)
	m.beginHold(of)
	return m.live.Begin(ctx, of)
}

func (m *Metrics) ended(ctx context.Context, call lock.Call, held time.Duration, err error) {
	of := m.series(call)
	m.live.End(ctx)
	m.observe(ctx, m.holds.WithLabelValues(values(of, string(lock.OutcomeOfHold(err)))...), held)
	if lost, ok := errors.AsType[*lock.LostError](err); ok {
		m.losses.WithLabelValues(values(of, lost.Reason.Label())...).Inc()
	}
}

func (m *Metrics) renewed(r lock.Renewal) {
	of := metrics.Series{Store: r.Store, Kind: r.Kind, Class: m.class(r.Name)}
	m.renewals.WithLabelValues(values(of, metrics.ResultOf(r.Err))...).Inc()
}

func (m *Metrics) command(c lock.Command) {
	m.commands.WithLabelValues(string(c.Store), c.Script, metrics.ResultOf(c.Err)).Observe(c.Took.Seconds())
}

func (m *Metrics) series(call lock.Call) metrics.Series {
	return metrics.Series{Store: call.Store, Kind: call.Kind, Class: m.class(call.Name)}
}

func (m *Metrics) observe(ctx context.Context, histogram prometheus.Observer, took time.Duration) {
	if labels := m.exemplar(ctx); labels != nil {
		if o, ok := histogram.(prometheus.ExemplarObserver); ok {
			o.ObserveWithExemplar(took.Seconds(), labels)
			return
		}
	}
	histogram.Observe(took.Seconds())
}
