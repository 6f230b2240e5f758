package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/observe/lockclass"
	"github.com/holdfast-go/holdfast/observe/otel"
	"github.com/holdfast-go/holdfast/rlock"
)

// lab is a telemetry whose metrics and spans stay in memory.
type lab struct {
	*otel.Telemetry
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer *trace.TracerProvider
}

func newLab(t *testing.T, opts otel.Options) *lab {
	t.Helper()
	l := &lab{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	l.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(l.spans))
	opts.MeterProvider = metric.NewMeterProvider(metric.WithReader(l.reader))
	opts.TracerProvider = l.tracer
	var err error
	l.Telemetry, err = otel.New(opts)
	require.NoError(t, err)
	return l
}

// metrics returns what was measured, by the metrics' names without their prefix.
func (l *lab) metrics(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, l.reader.Collect(t.Context(), &all))
	byName := make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			byName[strings.TrimPrefix(m.Name, "holdfast.")] = m
		}
	}
	return byName
}

// values returns the values of a metric by its attributes; of a histogram, how much was observed.
func values(m metricdata.Metrics) map[string]float64 {
	found := make(map[string]float64)
	switch data := m.Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			found[labels(p.Attributes)] = float64(p.Count)
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			found[labels(p.Attributes)] = float64(p.Value)
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			found[labels(p.Attributes)] = float64(p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			found[labels(p.Attributes)] = p.Value
		}
	}
	return found
}

func labels(set attribute.Set) string {
	var all []string
	for _, pair := range set.ToSlice() {
		all = append(all, pair.Value.String())
	}
	return strings.Join(all, " ")
}

func renewal(name string, err error) lock.Renewal {
	return lock.Renewal{Store: rlock.Store, Name: name, Kind: lock.KindLock, Err: err}
}

func TestCallsAreMeasuredByTheirOutcome(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	o := l.Observer()
	call := lock.Call{Store: rlock.Store, Name: "order:1", Kind: lock.KindLock}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range []error{nil, lock.ErrBusy, lock.ErrUnavailable, context.Canceled, errors.New("odd")} {
		begun := o.Begin(ctx, call)
		if errors.Is(err, context.Canceled) {
			cancel()
		}
		o.End(begun, call, time.Second, err)
	}
	measured := l.metrics(t)
	assert.Equal(t, map[string]float64{
		"order:* rlock held redis": 1, "order:* rlock busy redis": 1, "order:* rlock unavailable redis": 1,
		"order:* rlock cancelled redis": 1,
		"order:* rlock error redis":     1,
	}, values(measured["wait.duration"]))
	assert.Equal(t, map[string]float64{
		"order:* rlock busy redis": 1, "order:* rlock unavailable redis": 1, "order:* rlock cancelled redis": 1,
		"order:* rlock error redis": 1,
	}, values(measured["failures"]))
	assert.Equal(t, "s", measured["wait.duration"].Unit)
	assert.Equal(t, map[string]float64{
		"order:* rlock redis": 0,
	}, values(measured["waiting"]), "with an ended context too")
}

func TestHoldsAreMeasuredByTheirOutcome(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	o := l.Observer()
	call := lock.Call{Store: rlock.Store, Name: "order:1", Kind: lock.KindLock}
	held := o.Held(t.Context(), call)
	assert.Equal(t, map[string]float64{"order:* rlock redis": 1}, values(l.metrics(t)["held"]))
	assert.Equal(t, map[string]float64{
		"order:* rlock expired redis": 0, "order:* rlock gone redis": 0, "order:* rlock max_hold redis": 0,
	}, values(l.metrics(t)["losses"]), "they begin at zero")
	o.Ended(held, call, time.Second, &lock.LostError{Name: "order:1", Reason: lock.LossGone})
	o.Ended(o.Held(t.Context(), call), call, time.Second, nil)
	o.Ended(o.Held(t.Context(), call), call, time.Second, &lock.ReleaseError{Name: "order:1"})
	measured := l.metrics(t)
	assert.Equal(t, map[string]float64{"order:* rlock redis": 0}, values(measured["held"]))
	assert.Equal(t, map[string]float64{"order:* rlock lost redis": 1, "order:* rlock released redis": 1,
		"order:* rlock unconfirmed redis": 1}, values(measured["hold.duration"]))
	assert.InDelta(t, 1, values(measured["losses"])["order:* rlock gone redis"], 0)
	assert.Empty(t, l.spans.Started(), "a hold is no span")
}

func TestRenewalsAndCommands(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	o := l.Observer()
	o.Renewed(renewal("order:1", nil))
	o.Renewed(renewal("order:2", lock.ErrUnavailable))
	o.Command(lock.Command{Store: rlock.Store, Script: "acquire", Took: time.Millisecond})
	measured := l.metrics(t)
	assert.Equal(t, map[string]float64{
		"order:* rlock ok redis": 1, "order:* unavailable rlock error redis": 1,
	}, values(measured["renewals"]))
	assert.Equal(t, map[string]float64{"ok acquire redis": 1}, values(measured["command.duration"]))
}

type stats lock.Stats

func (s stats) Stats() lock.Stats { return lock.Stats(s) }

func TestClientsAreTracked(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	assert.Empty(t, l.metrics(t), "zeros would look like measurements")
	l.Track(stats{Store: rlock.Store, Holds: 1, LeastValidity: 9 * time.Second, Kept: 2})
	l.Track(stats{Store: "etcd", Kept: 1})
	untrack := l.Track(stats{
		Store: rlock.Store, Holds: 2, Kept: 4, LeastValidity: 5 * time.Second, RenewalsDue: 1, ReleasesOwed: 3,
		Coalesced: 4,
	})
	measured := l.metrics(t)
	for name, want := range map[string]map[string]float64{
		"least_validity": {"redis": 5}, "kept": {"redis": 6, "etcd": 1}, "renewals.due": {"redis": 1, "etcd": 0},
		"releases.owed": {"redis": 3, "etcd": 0}, "events.dropped": {"redis": 4, "etcd": 0},
	} {
		assert.Equal(t, want, values(measured[name]), name)
	}
	untrack()
	untrack()
	assert.Equal(t, map[string]float64{"redis": 9}, values(l.metrics(t)["least_validity"]))
	assert.Equal(t, map[string]float64{"redis": 4, "etcd": 0}, values(l.metrics(t)["events.dropped"]),
		"a counter does not fall")
}

// An alert on an increase does not see a counter that begins with 1.
func TestCountersOfAlertsBeginAtZero(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	o := l.Observer()
	call := lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindRead}
	o.Held(o.Begin(t.Context(), call), call)
	measured := l.metrics(t)
	assert.Equal(t, map[string]float64{"a read unavailable redis": 0}, values(measured["failures"]))
	assert.Equal(t, map[string]float64{"a read ok redis": 0, "a read error redis": 0}, values(measured["renewals"]))
	assert.Equal(t, map[string]float64{"a read gone redis": 0, "a read expired redis": 0, "a read max_hold redis": 0},
		values(measured["losses"]))
}

func TestNamesAreNeverAttributesOfMetrics(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{Class: func(name string) string { return name }})
	o := l.Observer()
	for i := range 1000 {
		call := lock.Call{Store: rlock.Store, Name: fmt.Sprint("order:", i), Kind: lock.KindLock}
		o.Ended(o.Held(o.Begin(t.Context(), call), call), call, 0, nil)
		o.End(t.Context(), call, 0, nil)
		o.Renewed(renewal(call.Name, nil))
	}
	for name, m := range l.metrics(t) {
		most := lockclass.DefaultMost + 1
		switch name {
		case "losses":
			most *= 3 // reasons
		case "renewals":
			most *= 2 // results
		}
		assert.LessOrEqual(t, len(values(m)), most, name)
	}
}

// attributes returns the attributes of a span or of an event, by their names.
func attributes(pairs []attribute.KeyValue) map[string]string {
	all := make(map[string]string)
	for _, pair := range pairs {
		all[strings.TrimPrefix(string(pair.Key), "holdfast.")] = pair.Value.String()
	}
	return all
}

func TestTheWaitIsOneSpan(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	o := l.Observer()
	ctx, parent := l.tracer.Tracer("test").Start(t.Context(), "request")
	call := lock.Call{Store: rlock.Store, Name: "order:1001", Kind: lock.KindSemaphore, Permits: 2}
	granted := call
	granted.HoldID, granted.Fence = "id", 7
	o.End(o.Begin(ctx, call), granted, time.Second, nil)
	o.End(o.Begin(ctx, call), call, time.Second, fmt.Errorf("%w: no answer", lock.ErrUnavailable))
	o.End(o.Begin(ctx, call), call, time.Second, lock.ErrBusy)
	spans := l.spans.Ended()
	require.Len(t, spans, 3)
	for i, want := range []struct {
		status codes.Code
		text   map[string]string
	}{
		{codes.Unset, map[string]string{"outcome": "held", "hold.id": "id", "fence": "7"}},
		{codes.Error, map[string]string{"outcome": "unavailable", "error.type": "unavailable"}},
		{codes.Unset, map[string]string{"outcome": "busy"}},
	} {
		for key, value := range map[string]string{
			"name": "order:1001", "kind": "semaphore", "store": "redis", "permits": "2", "try": "false",
		} {
			want.text[key] = value
		}
		assert.Equal(t, "holdfast.wait", spans[i].Name())
		assert.Equal(t, parent.SpanContext().SpanID(), spans[i].Parent().SpanID())
		assert.Equal(t, want.text, attributes(spans[i].Attributes()))
		assert.Equal(t, want.status, spans[i].Status().Code)
	}
	exemplars := 0
	data, ok := l.metrics(t)["wait.duration"].Data.(metricdata.Histogram[float64])
	require.True(t, ok)
	for _, p := range data.DataPoints {
		exemplars += len(p.Exemplars)
	}
	assert.Positive(t, exemplars, "they lead from the histogram to the span")
}

func TestALossIsAnEventOfTheSpanThatHolds(t *testing.T) {
	t.Parallel()
	call := lock.Call{Store: rlock.Store, Name: "order:1001", Kind: lock.KindLock, HoldID: "id", Fence: 7}
	lost := &lock.LostError{Name: call.Name, Reason: lock.LossExpired}
	for _, holdSpans := range []bool{false, true} {
		l := newLab(t, otel.Options{HoldSpans: holdSpans})
		o := l.Observer()
		ctx, span := l.tracer.Tracer("test").Start(t.Context(), "request")
		held := o.Held(ctx, call)
		_, work := l.tracer.Tracer("test").Start(held, "work")
		o.Ended(held, call, time.Second, lost)
		work.End()
		span.End()
		names := map[string]trace.ReadOnlySpan{}
		for _, s := range l.spans.Ended() {
			names[s.Name()] = s
		}
		bearer := "request"
		if holdSpans {
			bearer = "holdfast.hold"
			assert.Equal(t, codes.Error, names[bearer].Status().Code)
			assert.Equal(t, "lost", attributes(names[bearer].Attributes())["outcome"])
		}
		assert.Len(t, names, 2+map[bool]int{true: 1}[holdSpans])
		assert.Equal(t, names[bearer].SpanContext().SpanID(), names["work"].Parent().SpanID())
		require.Len(t, names[bearer].Events(), 1)
		event := names[bearer].Events()[0]
		assert.Equal(t, "holdfast.lost", event.Name)
		assert.Equal(t, map[string]string{
			"name": "order:1001", "kind": "rlock", "store": "redis", "hold.id": "id", "fence": "7", "reason": "expired",
		}, attributes(event.Attributes))
	}
}

// A program that sets no provider pays for the global ones, which do nothing.
func TestWithoutProvidersNothingHappens(t *testing.T) {
	t.Parallel()
	telemetry, err := otel.New(otel.Options{})
	require.NoError(t, err)
	o := telemetry.Observer()
	call := lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindLock}
	o.End(o.Begin(t.Context(), call), call, 0, nil)
	o.Ended(o.Held(t.Context(), call), call, 0, nil)
	telemetry.Track(stats{})()
}

// An exporter drops a batch in which one text is not UTF-8, with the spans of the application. Names are told apart all
// the same (defect G53).
func TestWhatLeavesInSpansIsUTF8(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{HoldSpans: true})
	o := l.Observer()
	names := make(map[string]bool)
	for _, name := range []string{"file:caf\xe9.txt", "file:caf\xea.txt", `"file:caf\xe9.txt"`} {
		call := lock.Call{Name: name, Kind: lock.KindLock, HoldID: "id"}
		lost := &lock.LostError{Name: name, Reason: lock.LossExpired, Err: fmt.Errorf("the server said \xff")}
		ctx := o.Begin(t.Context(), call)
		held := o.Held(ctx, call)
		o.Ended(held, call, time.Second, lost)
		o.End(ctx, call, time.Second, fmt.Errorf("%w: \xff", lock.ErrUnavailable))
	}
	for _, span := range l.spans.Ended() {
		all := [][]attribute.KeyValue{span.Attributes()}
		for _, event := range span.Events() {
			all = append(all, event.Attributes)
		}
		for _, pairs := range all {
			told := attributes(pairs)
			for key, text := range told {
				assert.True(t, utf8.ValidString(text), "%s: %q", key, text)
			}
			names[told["name"]] = true
		}
		assert.True(t, utf8.ValidString(span.Status().Description), "%q", span.Status().Description)
	}
	assert.Len(t, names, 3)
}
