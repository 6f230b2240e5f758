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
	"github.com/holdfast-go/holdfast/rlock"
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
		byName[strings.TrimPrefix(family.GetName(), "holdfast_")] = family
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

func renewal(name string, err error) lock.Renewal {
	return lock.Renewal{Store: rlock.Store, Name: name, Kind: lock.KindLock, Err: err}
}

func TestCallsAreCountedByTheirOutcome(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	o := m.Observer()
	call := lock.Call{Store: rlock.Store, Name: "order:1", Kind: lock.KindLock}
	for _, err := range []error{
		nil, lock.ErrBusy, lock.ErrUnavailable, lock.ErrKeyConflict, context.Canceled, lock.ErrClosed,
		errors.New("odd"),
	} {
		o.End(o.Begin(context.Background(), call), call, time.Second, err)
	}
	assert.Equal(t, map[string]float64{
		"order:* rlock held redis": 1, "order:* rlock busy redis": 1, "order:* rlock unavailable redis": 1,
		"order:* rlock conflict redis":  1,
		"order:* rlock cancelled redis": 1, "order:* rlock closed redis": 1, "order:* rlock error redis": 1,
	}, values(gather(t, m)["wait_duration_seconds"]))
	assert.Equal(t, map[string]float64{
		"order:* rlock busy redis": 1, "order:* rlock unavailable redis": 1, "order:* rlock conflict redis": 1,
		"order:* rlock cancelled redis": 1, "order:* rlock closed redis": 1, "order:* rlock error redis": 1,
	}, values(gather(t, m)["failures_total"]))
}

func TestHoldsAreCountedByTheirOutcome(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	call := lock.Call{Store: rlock.Store, Name: "order:1", Kind: lock.KindFair}
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
		"order:* fair released redis": 1, "order:* fair exported redis": 1, "order:* fair closed redis": 1,
		"order:* fair unavailable redis": 1,
		"order:* fair lost redis":        2, "order:* fair unconfirmed redis": 1,
	}, values(all["hold_duration_seconds"]))
	assert.Equal(t, map[string]float64{
		"order:* fair gone redis": 1, "order:* fair expired redis": 1, "order:* fair max_hold redis": 0,
	}, values(all["losses_total"]))
	assert.Equal(t, map[string]float64{"order:* fair redis": 0}, values(all["held"]))
}

func TestWhatIsGoingOnIsAGauge(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	o := m.Observer()
	call := lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindLock}
	try := lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindLock, Try: true}
	o.Begin(context.Background(), try)
	waiting := o.Begin(context.Background(), call)
	assert.Equal(t, map[string]float64{
		"a rlock redis": 1,
	}, values(gather(t, m)["waiting"]), "who only tries does not wait")
	o.End(waiting, call, time.Second, nil)
	o.End(context.Background(), try, 0, lock.ErrBusy)
	assert.Equal(t, map[string]float64{"a rlock redis": 0}, values(gather(t, m)["waiting"]))

	first, second := acquire(o, call), acquire(o, call)
	assert.Equal(t, map[string]float64{"a rlock redis": 2}, values(gather(t, m)["held"]))
	oldest := values(gather(t, m)["oldest_hold_seconds"])["a rlock redis"]
	assert.Positive(t, oldest)
	assert.Greater(t, values(gather(t, m)["oldest_hold_seconds"])["a rlock redis"], oldest,
		"it grows while the hold lasts")
	first(time.Second, nil)
	assert.Equal(t, map[string]float64{"a rlock redis": 1}, values(gather(t, m)["held"]))
	second(time.Second, nil)
	assert.Equal(t, map[string]float64{"a rlock redis": 0}, values(gather(t, m)["held"]))
	assert.Equal(t, map[string]float64{"a rlock redis": 0}, values(gather(t, m)["oldest_hold_seconds"]))
}

// An alert on an increase does not see a counter that begins with 1.
func TestCountersOfAlertsBeginAtZero(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	acquire(m.Observer(), lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindRead})
	all := gather(t, m)
	assert.Equal(t, map[string]float64{"a read gone redis": 0, "a read expired redis": 0, "a read max_hold redis": 0},
		values(all["losses_total"]))
	assert.Equal(t, map[string]float64{"a read ok redis": 0, "a read error redis": 0}, values(all["renewals_total"]))
	assert.Equal(t, map[string]float64{"a read unavailable redis": 0}, values(all["failures_total"]))
}

func TestRenewalsAndCommands(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	o := m.Observer()
	o.Renewed(renewal("order:1", nil))
	o.Renewed(renewal("order:2", lock.ErrUnavailable))
	o.Renewed(renewal("order:3", nil))
	o.Command(lock.Command{Store: rlock.Store, Script: "acquire", Took: time.Millisecond})
	o.Command(lock.Command{Store: rlock.Store, Script: "acquire", Took: time.Millisecond, Err: lock.ErrUnavailable})
	all := gather(t, m)
	assert.Equal(t, map[string]float64{
		"order:* rlock ok redis": 2, "order:* rlock error redis": 1,
	}, values(all["renewals_total"]))
	assert.Equal(t, map[string]float64{
		"ok acquire redis": 1, "error acquire redis": 1,
	}, values(all["command_duration_seconds"]))
}

func TestNamesAreNeverLabels(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{Class: func(name string) string { return name }})
	o := m.Observer()
	for i := range 10_000 {
		call := lock.Call{Store: rlock.Store, Name: fmt.Sprint("order:", i), Kind: lock.KindLock}
		acquire(o, call)(time.Second, nil)
		o.Renewed(renewal(call.Name, nil))
	}
	o.Renewed(renewal("not \xff UTF-8", nil))
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
	defer m.Track(stats{Store: rlock.Store, Holds: 1})()
	o := m.Observer()
	acquire(o, lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindLock})(time.Second, nil)
	o.Command(lock.Command{Store: rlock.Store, Script: "acquire"})
	problems, err := testutil.CollectAndLint(m)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestHistogramsAreClassicAndNative(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	acquire(m.Observer(), lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindLock})(time.Second, nil)
	all := gather(t, m)
	waits := all["wait_duration_seconds"].GetMetric()[0].GetHistogram()
	holds := all["hold_duration_seconds"].GetMetric()[0].GetHistogram()
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
	m.Track(stats{Store: rlock.Store})
	assert.NotContains(t, gather(t, m), "least_validity_seconds", "there are no holds")
	m.Track(stats{Store: rlock.Store, Holds: 1, LeastValidity: 20 * time.Second, RenewalsDue: 1, Kept: 2, Coalesced: 1})
	m.Track(stats{Store: "etcd", Holds: 1, LeastValidity: time.Second, Kept: 7})
	untrack := m.Track(stats{
		Store: rlock.Store, Holds: 2, LeastValidity: 5 * time.Second, ReleasesOwed: 3, Kept: 4, Coalesced: 2,
	})
	all := gather(t, m)
	assert.Equal(t, map[string]float64{"redis": 5, "etcd": 1}, values(all["least_validity_seconds"]))
	assert.Equal(t, map[string]float64{"redis": 6, "etcd": 7}, values(all["kept"]))
	assert.Equal(t, map[string]float64{"redis": 1, "etcd": 0}, values(all["renewals_due"]))
	assert.Equal(t, map[string]float64{"redis": 3, "etcd": 0}, values(all["releases_owed"]))
	untrack()
	untrack()
	all = gather(t, m)
	assert.Equal(t, map[string]float64{"redis": 20, "etcd": 1}, values(all["least_validity_seconds"]))
	assert.Equal(t, map[string]float64{"redis": 3, "etcd": 0}, values(all["events_dropped_total"]),
		"a counter does not fall")
}

// A name, and a class that an application makes of it, may be any bytes. A label that is not UTF-8 would lose the whole
// scrape.
func TestANameThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	for of, class := range map[string]func(string) string{
		"its own class":       nil,
		"the name as a class": func(name string) string { return name },
	} {
		m := prometheus.New(prometheus.Options{Class: class})
		o := m.Observer()
		call := lock.Call{Store: rlock.Store, Name: "caf\xe9", Kind: lock.KindLock}
		o.End(o.Begin(t.Context(), call), call, 0, lock.ErrBusy)
		acquire(o, call)(time.Second, &lock.LostError{Name: call.Name, Reason: lock.LossGone})
		acquire(o, call)
		o.Renewed(renewal(call.Name, nil))
		all := gather(t, m)
		assert.Equal(t, map[string]float64{"caf* rlock redis": 1}, values(all["held"]), of)
		assert.Contains(t, values(all["losses_total"]), "caf* rlock gone redis", of)
	}
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
	call := lock.Call{Store: rlock.Store, Name: "a", Kind: lock.KindLock}
	for _, id := range []string{"4bf92f3577b34da6", strings.Repeat("too long ", 20), "\xff"} {
		ctx := context.WithValue(context.Background(), traceKey{}, id)
		o.End(o.Begin(ctx, call), call, time.Millisecond, nil)
		o.Ended(o.Held(ctx, call), call, time.Millisecond, nil)
	}
	o.End(context.Background(), call, time.Millisecond, nil)
	for _, name := range []string{"wait_duration_seconds", "hold_duration_seconds"} {
		var traces []string
		for _, bucket := range gather(t, m)[name].GetMetric()[0].GetHistogram().GetBucket() {
			for _, pair := range bucket.GetExemplar().GetLabel() {
				traces = append(traces, pair.GetName()+"="+pair.GetValue())
			}
		}
		assert.Equal(t, []string{"trace_id=4bf92f3577b34da6"}, traces, name)
	}
}
