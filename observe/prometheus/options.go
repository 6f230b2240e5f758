package prometheus

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/observe/lockclass"
)

// Options are all optional.
type Options struct {
	// Class returns the class of a lock by its name. It is called several times for each call that locks, so it should
	// be quick. Without it, it is lockclass.Of, which turns digits, UUIDs and hexadecimal numbers to "*".
	Class func(name string) string
	// MaxClasses is how many classes there are besides lockclass.Other; lockclass.DefaultMost if it is 0.
	MaxClasses int
	// Exemplar returns what tells a trace, for the context that the call began with, or nil. It may be called after
	// that context ended. Usually:
	//
	//	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
	//		return prometheus.Labels{"trace_id": span.TraceID().String()}
	//	}
	//	return nil
	Exemplar func(ctx context.Context) prometheus.Labels
	// Buckets are the classic buckets of waits and commands, in seconds; DefaultBuckets if it is nil. Native histograms
	// are collected besides, and kept by a Prometheus that asks for them.
	Buckets []float64
	// HoldBuckets are those of holds; DefaultHoldBuckets if it is nil.
	HoldBuckets []float64
}

// DefaultBuckets reach from a command's time to the default lease, 30 s.
func DefaultBuckets() []float64 { return metrics.Buckets() }

// DefaultHoldBuckets reach to an hour.
func DefaultHoldBuckets() []float64 { return metrics.HoldBuckets() }

func (o Options) class() func(string) string { return lockclass.Limit(o.Class, o.MaxClasses) }

// histogram returns a histogram with classic and native buckets.
func histogram(m metrics.Metric, buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Prometheus(), Help: m.Help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, m.Labels)
}

// exemplar returns what Options.Exemplar says of the context, or nil if that is no exemplar: client_golang panics on
// one that is too long.
func (m *Metrics) exemplar(ctx context.Context) prometheus.Labels {
	if m.opts.Exemplar == nil {
		return nil
	}
	labels := m.opts.Exemplar(ctx)
	length := 0
	for name, value := range labels {
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil
		}
		length += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
	}
	if length > prometheus.ExemplarMaxRunes {
		return nil
	}
	return labels
}
