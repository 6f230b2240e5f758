// Package otel measures and traces what locks do, for OpenTelemetry. Import it under a name of its own:
//
//	import locktelemetry "github.com/holdfast-go/holdfast/observe/otel"
//
//	telemetry, err := locktelemetry.New(locktelemetry.Options{})
//	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: telemetry.Observer()})
//	defer telemetry.Track(client)()
//
// One Telemetry serves all clients of a process. The page docs/metrics.md has each metric with its attributes.
//
// # Traces
//
// Each call that acquires is a span, holdfast.wait, from its begin until it holds or fails. Its attributes are the
// lock's name, kind and store, what became of the call, and the hold's id and fencing token. It is an error if the
// store did not answer, if the key belongs to something else, and if anything else went wrong. Busy and cancelled are
// none. A name that is not UTF-8, has control characters, or begins with a quotation mark is quoted as in Go.
//
// A hold is no span, because it can last for hours, and a trace shows nothing of a span that has not ended. Work under
// the lock belongs to the span that the caller's context has, and so does the event holdfast.lost when the hold is
// lost. With [Options].HoldSpans each hold is a span, holdfast.hold, and the parent of the work.
//
// # Metrics
//
// They have the names, labels and values of package observe/prometheus, behind "holdfast." and in OpenTelemetry's
// notation, so what an exporter for Prometheus makes of them serves the same alerts and the same dashboard.
//
// No metric has the name of a lock as an attribute. The attribute class is a name without its numbers and identifiers,
// of which there are at most 100: see package lockclass. Exemplars are made by the SDK, and name the span of the wait.
package otel
