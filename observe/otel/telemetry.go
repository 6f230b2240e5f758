package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/lock"
)

// Telemetry are the metrics and traces of the locks of a process. It is safe for concurrent use.
type Telemetry struct {
	class     func(name string) string
	tracer    trace.Tracer
	holdSpans bool

	waits    metric.Float64Histogram
	failures metric.Int64Counter
	waiting  metric.Int64UpDownCounter
	holds    metric.Float64Histogram
	losses   metric.Int64Counter
	renewals metric.Int64Counter
	commands metric.Float64Histogram
	live     metrics.Live
	clients  metrics.Clients
}

// New makes the instruments. Its error is that of the meter.
func New(opts Options) (*Telemetry, error) {
	t := &Telemetry{class: opts.class(), tracer: opts.tracer(), holdSpans: opts.HoldSpans}
	m := &instruments{meter: opts.meter()}
	t.waits = m.histogram(metrics.Waits, metrics.Buckets())
	t.failures = m.counter(metrics.Failures)
	t.waiting = m.upDownCounter(metrics.Waiting)
	t.holds = m.histogram(metrics.Holds, metrics.HoldBuckets())
	t.losses = m.counter(metrics.Losses)
	t.renewals = m.counter(metrics.Renewals)
	t.commands = m.histogram(metrics.Commands, metrics.Buckets())
	m.observe(&t.live)
	m.observeClients(&t.clients)
	return t, errors.Join(m.errs...)
}

// Statter is what Track needs of a client.
type Statter interface {
	Stats() lock.Stats
}

// Track adds what client.Stats tells to the metrics, until the returned function is called. Call that before the client
// is closed, or soon after.
func (t *Telemetry) Track(client Statter) (untrack func()) { return t.clients.Track(client) }

// Observer returns what tells the telemetry of a client's locks: set it as ClientOptions.Observer, of one client or of
// several. With other observers, join them by lock.JoinObservers.
func (t *Telemetry) Observer() *lock.Observer {
	return &lock.Observer{
		Begin: t.begin, End: t.end, Held: t.hold, Ended: t.ended, Renewed: t.renewed, Command: t.command,
	}
}

// begin has the counters that an alert asks for begin at zero: it does not see an increase of one that begins with the
// first failure.
func (t *Telemetry) begin(ctx context.Context, call lock.Call) context.Context {
	of := t.series(call)
	t.failures.Add(ctx, 0, labels(of, keyReason.String(string(lock.OutcomeUnavailable))))
	if !call.Try {
		t.waiting.Add(ctx, 1, labels(of))
	}
	return t.startWait(ctx, call)
}

func (t *Telemetry) end(ctx context.Context, call lock.Call, waited time.Duration, err error) {
	of, outcome := t.series(call), lock.OutcomeOf(err)
	if !call.Try {
		t.waiting.Add(ctx, -1, labels(of))
	}
	t.waits.Record(ctx, waited.Seconds(), labels(of, keyOutcome.String(string(outcome))))
	if err != nil {
		t.failures.Add(ctx, 1, labels(of, keyReason.String(string(outcome))))
	}
	endWait(ctx, call, outcome, err)
}

// hold does as begin for what can happen to a hold.
func (t *Telemetry) hold(ctx context.Context, call lock.Call) context.Context {
	of := t.series(call)
	for _, reason := range metrics.LossReasons() {
		t.losses.Add(ctx, 0, labels(of, keyReason.String(reason)))
	}
	for _, result := range []string{metrics.OK, metrics.Error} {
		t.renewals.Add(ctx, 0, labels(of, keyResult.String(result)))
	}
	if t.holdSpans {
		ctx = t.startHold(ctx, call)
	}
	return t.live.Begin(ctx, of)
}

func (t *Telemetry) ended(ctx context.Context, call lock.Call, held time.Duration, err error) {
	t.live.End(ctx)
	of, outcome := t.series(call), lock.OutcomeOfHold(err)
	t.holds.Record(ctx, held.Seconds(), labels(of, keyOutcome.String(string(outcome))))
	if lost, ok := errors.AsType[*lock.LostError](err); ok {
		t.losses.Add(ctx, 1, labels(of, keyReason.String(lost.Reason.Label())))
		tellLoss(ctx, call, lost)
	}
	endHold(ctx, outcome, err)
}

func (t *Telemetry) renewed(r lock.Renewal) {
	of := metrics.Series{Store: r.Store, Kind: r.Kind, Class: t.class(r.Name)}
	t.renewals.Add(context.Background(), 1, labels(of, result(r.Err)...))
}

func (t *Telemetry) command(c lock.Command) {
	t.commands.Record(context.Background(), c.Took.Seconds(), metric.WithAttributes(
		append(result(c.Err), keyStore.String(string(c.Store)), keyScript.String(c.Script))...))
}

func (t *Telemetry) series(call lock.Call) metrics.Series {
	return metrics.Series{Store: call.Store, Kind: call.Kind, Class: t.class(call.Name)}
}

// labels are the attributes of a metric that tells locks apart.
func labels(of metrics.Series, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more,
		keyStore.String(string(of.Store)), keyKind.String(string(of.Kind)), keyClass.String(of.Class))...)
}

// result is what became of a renewal or a command, and what is the matter if it failed.
func result(err error) []attribute.KeyValue {
	pairs := []attribute.KeyValue{keyResult.String(metrics.ResultOf(err))}
	if err != nil {
		pairs = append(pairs, keyError.String(lock.ReasonOf(err)))
	}
	return pairs
}
