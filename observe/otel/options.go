package otel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/lock"
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

// The attributes. The first ones are on spans only.
const (
	keyName    = attribute.Key("holdfast.lock.name")
	keyHoldID  = attribute.Key("holdfast.lock.hold.id")
	keyFence   = attribute.Key("holdfast.lock.fence")
	keyPermits = attribute.Key("holdfast.lock.permits")
	keyTry     = attribute.Key("holdfast.lock.try")

	keyKind    = attribute.Key("holdfast.lock.kind")
	keyClass   = attribute.Key("holdfast.lock.class")
	keyOutcome = attribute.Key("holdfast.lock.outcome")
	keyReason  = attribute.Key("holdfast.lock.loss.reason")
	keyScript  = attribute.Key("holdfast.lock.script")
	keyError   = attribute.Key("error.type") // of OpenTelemetry's conventions; absent without an error
)

func (t *Telemetry) series(call lock.Call, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more,
		keyKind.String(string(call.Kind)), keyClass.String(t.class(call.Name)))...)
}
