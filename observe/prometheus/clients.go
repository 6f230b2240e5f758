package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/lock"
)

// Statter is what Track needs of a client.
type Statter interface {
	Stats() lock.Stats
}

// Track adds what client.Stats tells to the metrics, until the returned function is called. Call that before the client
// is closed, or soon after.
func (m *Metrics) Track(client Statter) (untrack func()) { return m.clients.Track(client) }

// clients collects the statistics of the clients that are tracked.
type clients struct {
	metrics.Clients
	validity, kept, due, owed, dropped *prometheus.Desc
}

func newClients() *clients {
	return &clients{
		validity: desc(metrics.LeastValidity), kept: desc(metrics.Kept), due: desc(metrics.RenewalsDue),
		owed: desc(metrics.ReleasesOwed), dropped: desc(metrics.EventsDropped),
	}
}

// Describe implements prometheus.Collector.
func (c *clients) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.validity, c.kept, c.due, c.owed, c.dropped} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *clients) Collect(to chan<- prometheus.Metric) {
	for of, sum := range c.Sums() {
		tell := func(desc *prometheus.Desc, as prometheus.ValueType, v float64) {
			to <- prometheus.MustNewConstMetric(desc, as, v, string(of))
		}
		if sum.Holds > 0 {
			tell(c.validity, prometheus.GaugeValue, sum.LeastValidity.Seconds())
		}
		tell(c.kept, prometheus.GaugeValue, float64(sum.Kept))
		tell(c.due, prometheus.GaugeValue, float64(sum.RenewalsDue))
		tell(c.owed, prometheus.GaugeValue, float64(sum.ReleasesOwed))
		tell(c.dropped, prometheus.CounterValue, float64(sum.Coalesced))
	}
}
