package prometheus

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/lock"
)

// Statter is what Track needs of a client.
type Statter interface {
	Stats() lock.Stats
}

// Track adds what client.Stats tells to the metrics, until the returned function is called. Call that before the client
// is closed, or soon after.
func (m *Metrics) Track(client Statter) (untrack func()) { return m.clients.track(client) }

// clients collects the statistics of the clients that are tracked: sums, and the least validity.
type clients struct {
	validity, kept, due, owed, dropped *prometheus.Desc

	mu      sync.Mutex
	tracked map[*tracked]struct{}
	gone    int64 // events that clients dropped which are tracked no more: a counter must not fall
}

type tracked struct{ client Statter }

func newClients() *clients {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(namespace+name, help, nil, nil) }
	return &clients{
		validity: desc("least_validity_seconds",
			"What is left of the hold whose validity ends first; absent without holds."),
		kept: desc("kept", "Locks that nobody holds and that stay with their clients (option Keep)."),
		due:  desc("renewals_due", "Holds whose time to renew has come, and whose renewal is not confirmed."),
		owed: desc("releases_owed", "Releases that the store has not confirmed, and that go on in the background."),
		dropped: desc("events_dropped_total",
			"Events that were dropped because the observer or the logger was too slow."),
		tracked: make(map[*tracked]struct{}),
	}
}

func (c *clients) track(client Statter) (untrack func()) {
	entry := &tracked{client}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracked[entry] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, is := c.tracked[entry]; is {
			delete(c.tracked, entry)
			c.gone += client.Stats().Coalesced
		}
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tracked) == 0 && c.gone == 0 {
		return // zeros would look like measurements
	}
	var sum lock.Stats
	for entry := range c.tracked {
		s := entry.client.Stats()
		if s.Holds > 0 && (sum.Holds == 0 || s.LeastValidity < sum.LeastValidity) {
			sum.LeastValidity = s.LeastValidity
		}
		sum.Holds += s.Holds
		sum.Kept += s.Kept
		sum.RenewalsDue += s.RenewalsDue
		sum.ReleasesOwed += s.ReleasesOwed
		sum.Coalesced += s.Coalesced
	}
	if sum.Holds > 0 {
		to <- prometheus.MustNewConstMetric(c.validity, prometheus.GaugeValue, sum.LeastValidity.Seconds())
	}
	to <- prometheus.MustNewConstMetric(c.kept, prometheus.GaugeValue, float64(sum.Kept))
	to <- prometheus.MustNewConstMetric(c.due, prometheus.GaugeValue, float64(sum.RenewalsDue))
	to <- prometheus.MustNewConstMetric(c.owed, prometheus.GaugeValue, float64(sum.ReleasesOwed))
	to <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(c.gone+sum.Coalesced))
}
