package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/internal/legible"
	"github.com/holdfast-go/holdfast/lock"
)

// Spans are found again by keys of our own: another observer may have put a span into the context after ours.
type (
	waitKey struct{}
	holdKey struct{}
)

func (t *Telemetry) startWait(ctx context.Context, call lock.Call) context.Context {
	attributes := append(identity(call), spanTry.Bool(call.Try))
	if call.Permits > 0 {
		attributes = append(attributes, spanPermits.Int(call.Permits))
	}
	ctx, span := t.tracer.Start(ctx, "holdfast.wait", trace.WithAttributes(attributes...))
	return context.WithValue(ctx, waitKey{}, span)
}

func endWait(ctx context.Context, call lock.Call, outcome lock.Outcome, err error) {
	span, ok := ctx.Value(waitKey{}).(trace.Span)
	if !ok {
		return
	}
	span.SetAttributes(spanOutcome.String(string(outcome)))
	if err == nil {
		span.SetAttributes(grant(call)...)
	}
	switch outcome {
	case lock.OutcomeUnavailable, lock.OutcomeConflict, lock.OutcomeError:
		fail(span, outcome, err)
	}
	span.End()
}

func (t *Telemetry) startHold(ctx context.Context, call lock.Call) context.Context {
	ctx, span := t.tracer.Start(ctx, "holdfast.hold",
		trace.WithAttributes(append(identity(call), grant(call)...)...))
	return context.WithValue(ctx, holdKey{}, span)
}

// endHold ends the span of the hold that Held returned the context of.
func endHold(ctx context.Context, outcome lock.Outcome, err error) {
	span, ok := ctx.Value(holdKey{}).(trace.Span)
	if !ok {
		return
	}
	span.SetAttributes(spanOutcome.String(string(outcome)))
	switch outcome {
	case lock.OutcomeLost, lock.OutcomeUnconfirmed, lock.OutcomeUnavailable, lock.OutcomeError:
		fail(span, outcome, err)
	}
	span.End()
}

// tellLoss adds the loss to the span that the work under the lock belongs to. A span that has ended takes no event.
func tellLoss(ctx context.Context, call lock.Call, lost *lock.LostError) {
	trace.SpanFromContext(ctx).AddEvent("holdfast.lost", trace.WithAttributes(
		append(append(identity(call), grant(call)...), spanReason.String(lost.Reason.Label()))...))
}

func fail(span trace.Span, outcome lock.Outcome, err error) {
	span.SetAttributes(keyError.String(string(outcome)))
	span.SetStatus(codes.Error, legible.Sentence(err.Error()))
}

// identity names the lock. An exporter drops all spans of a batch, also the application's, if a text in one of them is
// not UTF-8, and a name can be any bytes.
func identity(call lock.Call) []attribute.KeyValue {
	return []attribute.KeyValue{
		spanName.String(legible.Name(call.Name)), spanKind.String(string(call.Kind)),
		spanStore.String(string(call.Store)),
	}
}

func grant(call lock.Call) []attribute.KeyValue {
	attributes := []attribute.KeyValue{spanHoldID.String(call.HoldID)}
	if call.Fence > 0 {
		attributes = append(attributes, spanFence.Int64(call.Fence))
	}
	return attributes
}
