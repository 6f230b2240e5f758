package prometheus

import (
	"container/list"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// live collects the holds that are live, and the age of the oldest. A histogram counts a hold only when it is over, so
// that one which hangs for hours would not show.
type live struct {
	held, oldest *prometheus.Desc

	mu     sync.Mutex
	series map[series]*list.List // of the *holds of a series, the oldest first
}

type series struct{ kind, class string }

// hold is a live hold. Held puts it into the held context, by holdKey, and Ended finds it there.
type hold struct {
	series series
	since  time.Time
	place  *list.Element // nil when the hold is over
}

type holdKey struct{}

func newLive() *live {
	labels := []string{labelKind, labelClass}
	return &live{
		held: prometheus.NewDesc(namespace+"held", "Holds that are live.", labels, nil),
		oldest: prometheus.NewDesc(namespace+"oldest_hold_seconds",
			"How long the oldest hold that is live has lasted; 0 without one.", labels, nil),
		series: make(map[series]*list.List),
	}
}

func (l *live) begin(kind, class string) *hold {
	h := &hold{series: series{kind, class}, since: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	holds := l.series[h.series]
	if holds == nil {
		holds = list.New()
		l.series[h.series] = holds
	}
	h.place = holds.PushBack(h)
	return h
}

func (l *live) end(h *hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.place != nil {
		l.series[h.series].Remove(h.place)
		h.place = nil
	}
}

// Describe implements prometheus.Collector.
func (l *live) Describe(to chan<- *prometheus.Desc) {
	to <- l.held
	to <- l.oldest
}

// Collect implements prometheus.Collector.
func (l *live) Collect(to chan<- prometheus.Metric) {
	type state struct {
		series
		held   int
		oldest time.Duration
	}
	var states []state
	l.mu.Lock()
	for s, holds := range l.series {
		now := state{series: s, held: holds.Len()}
		if first := holds.Front(); first != nil {
			if h, ok := first.Value.(*hold); ok {
				now.oldest = time.Since(h.since)
			}
		}
		states = append(states, now)
	}
	l.mu.Unlock()
	for _, s := range states {
		gauge := func(desc *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, s.kind, s.class)
		}
		gauge(l.held, float64(s.held))
		gauge(l.oldest, s.oldest.Seconds())
	}
}
