package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/observe/lockclass"
	"github.com/holdfast-go/holdfast/observe/prometheus"
)

// gather returns the metrics by name, as a scrape would find them.
func gather(t *testing.T, m *prometheus.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	registry := client.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	byName := make(map[string]*dto.MetricFamily)
	for _, family := range families {
		byName[strings.TrimPrefix(family.GetName(), "distributed_lock_")] = family
	}
	return byName
}

// values returns the values of a metric by its labels; of a histogram, how much was observed.
func values(family *dto.MetricFamily) map[string]float64 {
	found := make(map[string]float64)
	for _, metric := range family.GetMetric() {
		var labels []string
		for _, pair := range metric.GetLabel() {
			labels = append(labels, pair.GetValue())
		}
		found[strings.Join(labels, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
			float64(metric.GetHistogram().GetSampleCount())
	}
	return found
}

// acquire plays a call that acquires, and returns what ends the hold.
func acquire(o *lock.Observer, call lock.Call) func(held time.Duration, err error) {
	ctx := context.Background()
	o.End(o.Begin(ctx, call), call, time.Millisecond, nil)
	held := o.Held(ctx, call)
	return func(took time.Duration, err error) { o.Ended(held, call, took, err) }
}

func TestCallsAreCountedByTheirOutcome(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	o := m.Observer()
	call := lock.Call{Name: "order:1", Kind: lock.KindLock}
	for _, err := range []error{
		nil, lock.ErrBusy, lock.ErrUnavailable, lock.ErrKeyConflict, context.Canceled, lock.ErrClosed, errors.New("odd"),
	} {
		o.End(o.Begin(context.Background(), call), call, time.Second, err)
	}
	assert.Equal(t, map[string]float64{
		"order:* rlock held": 1, "order:* rlock busy": 1, "order:* rlock unavailable": 1, "order:* rlock conflict": 1,
		"order:* rlock cancelled": 1, "order:* rlock closed": 1, "order:* rlock error": 1,
	}, values(gather(t, m)["wait_seconds"]))
	assert.Equal(t, map[string]float64{
		"order:* rlock busy": 1, "order:* rlock unavailable": 1, "order:* rlock conflict": 1,
		"order:* rlock cancelled": 1, "order:* rlock closed": 1, "order:* rlock error": 1,
	}, values(gather(t, m)["failures_total"]))
}

func TestHoldsAreCountedByTheirOutcome(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	call := lock.Call{Name: "order:1", Kind: lock.KindFair}
	for _, err := range []error{
		nil, lock.ErrExported, lock.ErrClosed, lock.ErrUnavailable,
		&lock.ReleaseError{Name: "order:1", Err: lock.ErrUnavailable},
		&lock.LostError{Name: "order:1", Reason: lock.LossGone},
		fmt.Errorf("wrapped: %w", &lock.LostError{Name: "order:1", Reason: lock.LossExpired}),
	} {
		acquire(m.Observer(), call)(time.Second, err)
	}
	all := gather(t, m)
	assert.Equal(t, map[string]float64{
		"order:* fair released": 1, "order:* fair exported": 1, "order:* fair closed": 1, "order:* fair unavailable": 1,
		"order:* fair lost": 2, "order:* fair unconfirmed": 1,
	}, values(all["hold_seconds"]))
	assert.Equal(t, map[string]float64{
		"order:* fair gone": 1, "order:* fair expired": 1, "order:* fair max_hold": 0,
	}, values(all["losses_total"]))
	assert.Equal(t, map[string]float64{"order:* fair": 0}, values(all["held"]))
}

func TestWhatIsGoingOnIsAGauge(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	o := m.Observer()
	call := lock.Call{Name: "a", Kind: lock.KindLock}
	try := lock.Call{Name: "a", Kind: lock.KindLock, Try: true}
	o.Begin(context.Background(), try)
	waiting := o.Begin(context.Background(), call)
	assert.Equal(t, map[string]float64{"a rlock": 1}, values(gather(t, m)["waiting"]), "who only tries does not wait")
	o.End(waiting, call, time.Second, nil)
	o.End(context.Background(), try, 0, lock.ErrBusy)
	assert.Equal(t, map[string]float64{"a rlock": 0}, values(gather(t, m)["waiting"]))

	first, second := acquire(o, call), acquire(o, call)
	assert.Equal(t, map[string]float64{"a rlock": 2}, values(gather(t, m)["held"]))
	oldest := values(gather(t, m)["oldest_hold_seconds"])["a rlock"]
	assert.Positive(t, oldest)
	assert.Greater(t, values(gather(t, m)["oldest_hold_seconds"])["a rlock"], oldest, "it grows while the hold lasts")
	first(time.Second, nil)
	assert.Equal(t, map[string]float64{"a rlock": 1}, values(gather(t, m)["held"]))
	second(time.Second, nil)
	assert.Equal(t, map[string]float64{"a rlock": 0}, values(gather(t, m)["held"]))
	assert.Equal(t, map[string]float64{"a rlock": 0}, values(gather(t, m)["oldest_hold_seconds"]))
}

// An alert on an increase does not see a counter that begins with 1.
func TestCountersOfAlertsBeginAtZero(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	acquire(m.Observer(), lock.Call{Name: "a", Kind: lock.KindRead})
	all := gather(t, m)
	assert.Equal(t, map[string]float64{"a read gone": 0, "a read expired": 0, "a read max_hold": 0},
		values(all["losses_total"]))
	assert.Equal(t, map[string]float64{"a ok": 0, "a error": 0}, values(all["renewals_total"]))
	assert.Equal(t, map[string]float64{"a read unavailable": 0}, values(all["failures_total"]))
}

func TestRenewalsAndCommands(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	o := m.Observer()
	o.Renewed("order:1", nil)
	o.Renewed("order:2", lock.ErrUnavailable)
	o.Renewed("order:3", nil)
	o.Command(lock.Command{Script: "acquire", Took: time.Millisecond})
	o.Command(lock.Command{Script: "acquire", Took: time.Millisecond, Err: lock.ErrUnavailable})
	all := gather(t, m)
	assert.Equal(t, map[string]float64{"order:* ok": 2, "order:* error": 1}, values(all["renewals_total"]))
	assert.Equal(t, map[string]float64{"ok acquire": 1, "error acquire": 1}, values(all["command_seconds"]))
}

func TestNamesAreNeverLabels(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{Class: func(name string) string { return name }})
	o := m.Observer()
	for i := range 10_000 {
		call := lock.Call{Name: fmt.Sprint("order:", i), Kind: lock.KindLock}
		acquire(o, call)(time.Second, nil)
		o.Renewed(call.Name, nil)
	}
	o.Renewed("not \xff UTF-8", nil)
	for name, family := range gather(t, m) {
		labels := make(map[string]bool)
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				if pair.GetName() == "class" {
					labels[pair.GetValue()] = true
				}
			}
		}
		assert.LessOrEqual(t, len(labels), lockclass.DefaultMost+1, name)
	}
}

func TestTheMetricsPassPrometheusOwnLint(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	defer m.Track(stats{Holds: 1})()
	o := m.Observer()
	acquire(o, lock.Call{Name: "a", Kind: lock.KindLock})(time.Second, nil)
	o.Command(lock.Command{Script: "acquire"})
	problems, err := testutil.CollectAndLint(m)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestHistogramsAreClassicAndNative(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	acquire(m.Observer(), lock.Call{Name: "a", Kind: lock.KindLock})(time.Second, nil)
	all := gather(t, m)
	waits, holds := all["wait_seconds"].GetMetric()[0].GetHistogram(), all["hold_seconds"].GetMetric()[0].GetHistogram()
	var bounds []float64
	for _, bucket := range waits.GetBucket() {
		bounds = append(bounds, bucket.GetUpperBound())
	}
	assert.Equal(t, []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30}, bounds)
	assert.NotEmpty(t, waits.GetPositiveSpan())
	assert.NotEmpty(t, holds.GetPositiveSpan())
}

type stats lock.Stats

func (s stats) Stats() lock.Stats { return lock.Stats(s) }

func TestClientsAreTracked(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	assert.Empty(t, gather(t, m), "zeros would look like measurements")
	m.Track(stats{})
	assert.NotContains(t, gather(t, m), "least_validity_seconds", "there are no holds")
	m.Track(stats{Holds: 1, LeastValidity: 20 * time.Second, RenewalsDue: 1, Kept: 2, Coalesced: 1})
	untrack := m.Track(stats{Holds: 2, LeastValidity: 5 * time.Second, ReleasesOwed: 3, Kept: 4, Coalesced: 2})
	all := gather(t, m)
	assert.Equal(t, map[string]float64{"": 5}, values(all["least_validity_seconds"]))
	assert.Equal(t, map[string]float64{"": 6}, values(all["kept"]))
	assert.Equal(t, map[string]float64{"": 1}, values(all["renewals_due"]))
	assert.Equal(t, map[string]float64{"": 3}, values(all["releases_owed"]))
	untrack()
	untrack()
	all = gather(t, m)
	assert.Equal(t, map[string]float64{"": 20}, values(all["least_validity_seconds"]))
	assert.Equal(t, map[string]float64{"": 3}, values(all["events_dropped_total"]), "a counter does not fall")
}

type traceKey struct{}

func TestExemplarsComeFromTheContextOfTheCall(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{Exemplar: func(ctx context.Context) client.Labels {
		if id, ok := ctx.Value(traceKey{}).(string); ok {
			return client.Labels{"trace_id": id}
		}
		return nil
	}})
	o := m.Observer()
	call := lock.Call{Name: "a", Kind: lock.KindLock}
	for _, id := range []string{"4bf92f3577b34da6", strings.Repeat("too long ", 20), "\xff"} {
		ctx := context.WithValue(context.Background(), traceKey{}, id)
		o.End(o.Begin(ctx, call), call, time.Millisecond, nil)
		o.Ended(o.Held(ctx, call), call, time.Millisecond, nil)
	}
	o.End(context.Background(), call, time.Millisecond, nil)
	for _, name := range []string{"wait_seconds", "hold_seconds"} {
		var traces []string
		for _, bucket := range gather(t, m)[name].GetMetric()[0].GetHistogram().GetBucket() {
			for _, pair := range bucket.GetExemplar().GetLabel() {
				traces = append(traces, pair.GetName()+"="+pair.GetValue())
			}
		}
		assert.Equal(t, []string{"trace_id=4bf92f3577b34da6"}, traces, name)
	}
}
