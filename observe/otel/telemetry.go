package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/lock"
)

// Telemetry are the metrics and traces of the locks of a process. It is safe for concurrent use.
type Telemetry struct {
	class     func(name string) string
	meter     metric.Meter
	tracer    trace.Tracer
	holdSpans bool

	waits    metric.Float64Histogram
	waiting  metric.Int64UpDownCounter
	holds    metric.Float64Histogram
	held     metric.Int64UpDownCounter
	losses   metric.Int64Counter
	renewals metric.Int64Counter
	commands metric.Float64Histogram
}

// New makes the instruments. Its error is that of the meter.
func New(opts Options) (*Telemetry, error) {
	t := &Telemetry{class: opts.class(), meter: opts.meter(), tracer: opts.tracer(), holdSpans: opts.HoldSpans}
	return t, errors.Join(t.makeDurations(), t.makeCounts())
}

func (t *Telemetry) makeDurations() error {
	short := []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30}
	long := append(short[:len(short):len(short)], 120, 600, 3600)
	seconds := metric.WithUnit("s")
	var errs [3]error
	t.waits, errs[0] = t.meter.Float64Histogram("holdfast.lock.wait.duration", seconds,
		metric.WithDescription("How long calls took to acquire, by how they ended."),
		metric.WithExplicitBucketBoundaries(short...))
	t.holds, errs[1] = t.meter.Float64Histogram("holdfast.lock.hold.duration", seconds,
		metric.WithDescription("How long holds lasted that are over, by how they ended."),
		metric.WithExplicitBucketBoundaries(long...))
	t.commands, errs[2] = t.meter.Float64Histogram("holdfast.lock.command.duration", seconds,
		metric.WithDescription("How long the store took to answer a script, as the client saw it."),
		metric.WithExplicitBucketBoundaries(short...))
	return errors.Join(errs[:]...)
}

func (t *Telemetry) makeCounts() error {
	var errs [4]error
	t.waiting, errs[0] = t.meter.Int64UpDownCounter("holdfast.lock.waiting", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that are about to acquire, without those that only try."))
	t.held, errs[1] = t.meter.Int64UpDownCounter("holdfast.lock.held", metric.WithUnit("{hold}"),
		metric.WithDescription("Holds that are live."))
	t.losses, errs[2] = t.meter.Int64Counter("holdfast.lock.losses", metric.WithUnit("{hold}"),
		metric.WithDescription("Holds that were lost, by reason."))
	t.renewals, errs[3] = t.meter.Int64Counter("holdfast.lock.renewals", metric.WithUnit("{renewal}"),
		metric.WithDescription("Renewals of leases, by whether the store confirmed them."))
	return errors.Join(errs[:]...)
}

// Observer returns what tells the telemetry of a client's locks: set it as ClientOptions.Observer, of one client or of
// several. With other observers, join them by lock.JoinObservers.
func (t *Telemetry) Observer() *lock.Observer {
	return &lock.Observer{
		Begin: t.begin, End: t.end, Held: t.hold, Ended: t.ended, Renewed: t.renewed, Command: t.command,
	}
}

func (t *Telemetry) begin(ctx context.Context, call lock.Call) context.Context {
	if !call.Try {
		t.waiting.Add(ctx, 1, t.series(call))
	}
	return t.startWait(ctx, call)
}

func (t *Telemetry) end(ctx context.Context, call lock.Call, waited time.Duration, err error) {
	if !call.Try {
		t.waiting.Add(ctx, -1, t.series(call))
	}
	outcome := lock.OutcomeOf(err)
	t.waits.Record(ctx, waited.Seconds(), t.series(call, keyOutcome.String(string(outcome))))
	endWait(ctx, call, outcome, err)
}

func (t *Telemetry) hold(ctx context.Context, call lock.Call) context.Context {
	t.held.Add(ctx, 1, t.series(call))
	// From zero on: an alert on an increase does not see a counter that begins with the first loss.
	for _, reason := range []lock.LossReason{lock.LossExpired, lock.LossGone, lock.LossMaxHold} {
		t.losses.Add(ctx, 0, t.series(call, keyReason.String(reason.Label())))
	}
	if t.holdSpans {
		return t.startHold(ctx, call)
	}
	return ctx
}

func (t *Telemetry) ended(ctx context.Context, call lock.Call, held time.Duration, err error) {
	t.held.Add(ctx, -1, t.series(call))
	outcome := lock.OutcomeOfHold(err)
	t.holds.Record(ctx, held.Seconds(), t.series(call, keyOutcome.String(string(outcome))))
	if lost, ok := errors.AsType[*lock.LostError](err); ok {
		t.losses.Add(ctx, 1, t.series(call, keyReason.String(lost.Reason.Label())))
		tellLoss(ctx, call, lost)
	}
	endHold(ctx, outcome, err)
}

func (t *Telemetry) renewed(name string, err error) {
	t.renewals.Add(context.Background(), 1, metric.WithAttributes(
		append(errorType(err), keyClass.String(t.class(name)))...))
}

func (t *Telemetry) command(c lock.Command) {
	t.commands.Record(context.Background(), c.Took.Seconds(), metric.WithAttributes(
		append(errorType(c.Err), keyScript.String(c.Script))...))
}

func errorType(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	return []attribute.KeyValue{keyError.String(lock.ReasonOf(err))}
}
