package prometheus

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	kind, class := string(call.Kind), m.class(call.Name)
	m.beginCall(kind, class)
	if !call.Try {
		m.waiting.WithLabelValues(kind, class).Inc()
	}
	return ctx
}

func (m *Metrics) end(ctx context.Context, call lock.Call, waited time.Duration, err error) {
	kind, class := string(call.Kind), m.class(call.Name)
	if !call.Try {
		m.waiting.WithLabelValues(kind, class).Dec()
	}
	outcome := lock.OutcomeOf(err)
	m.observe(ctx, m.waits.WithLabelValues(string(outcome), kind, class), waited)
	if outcome != lock.OutcomeHeld {
		m.failures.WithLabelValues(string(outcome), kind, class).Inc()
	}
}

func (m *Metrics) held(ctx context.Context, call lock.Call) context.Context {
	kind, class := string(call.Kind), m.class(call.Name)
	m.beginHold(kind, class)
	return context.WithValue(ctx, holdKey{}, m.live.begin(kind, class))
}

func (m *Metrics) ended(ctx context.Context, call lock.Call, held time.Duration, err error) {
	kind, class := string(call.Kind), m.class(call.Name)
	if h, ok := ctx.Value(holdKey{}).(*hold); ok {
		m.live.end(h)
	}
	m.observe(ctx, m.holds.WithLabelValues(string(lock.OutcomeOfHold(err)), kind, class), held)
	if lost, ok := errors.AsType[*lock.LostError](err); ok {
		m.losses.WithLabelValues(lost.Reason.Label(), kind, class).Inc()
	}
}

func (m *Metrics) renewed(name string, err error) {
	m.renewals.WithLabelValues(result(err), m.class(name)).Inc()
}

func (m *Metrics) command(c lock.Command) {
	m.commands.WithLabelValues(c.Script, result(c.Err)).Observe(c.Took.Seconds())
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

func result(err error) string {
	if err != nil {
		return resultError
	}
	return resultOK
}
