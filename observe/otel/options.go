package otel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/observe/lockclass"
)

// Options are all optional.
type Options struct {
	// MeterProvider and TracerProvider are the global ones if they are nil. A noop provider turns one of them off.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Class returns the class of a lock by its name. It is called several times for each call that locks, so it should
	// be quick. Without it, it is lockclass.Of, which turns digits, UUIDs and hexadecimal numbers to "*".
	Class func(name string) string
	// MaxClasses is how many classes there are besides lockclass.Other; lockclass.DefaultMost if it is 0.
	MaxClasses int
	// HoldSpans makes a span of each hold, which is the parent of the spans under the lock.
	HoldSpans bool
}

// scope names this module as the source of what it measures.
const scope = "github.com/holdfast-go/holdfast/observe/otel"

func (o Options) meter() metric.Meter {
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	return o.MeterProvider.Meter(scope)
}

func (o Options) tracer() trace.Tracer {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	return o.TracerProvider.Tracer(scope)
}

func (o Options) class() func(string) string { return lockclass.Limit(o.Class, o.MaxClasses) }

// The attributes of spans. A span has those of many libraries, so each begins with the name of this one.
const (
	spanName    = attribute.Key("holdfast.name")
	spanStore   = attribute.Key("holdfast.store")
	spanKind    = attribute.Key("holdfast.kind")
	spanOutcome = attribute.Key("holdfast.outcome")
	spanReason  = attribute.Key("holdfast.reason")
	spanHoldID  = attribute.Key("holdfast.hold.id")
	spanFence   = attribute.Key("holdfast.fence")
	spanPermits = attribute.Key("holdfast.permits")
	spanTry     = attribute.Key("holdfast.try")
)

// The attributes of metrics, which are Prometheus's labels. The name of a metric says whose they are.
const (
	keyStore   = attribute.Key(metrics.Store)
	keyKind    = attribute.Key(metrics.Kind)
	keyClass   = attribute.Key(metrics.Class)
	keyOutcome = attribute.Key(metrics.Outcome)
	keyReason  = attribute.Key(metrics.Reason)
	keyResult  = attribute.Key(metrics.Result)
	keyScript  = attribute.Key(metrics.Script)
)

const keyError = attribute.Key("error.type") // of OpenTelemetry's conventions; absent without an error
