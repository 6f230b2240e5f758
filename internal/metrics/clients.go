package metrics

import (
	"sync"

	"github.com/holdfast-go/holdfast/lock"
)

// Statter tells statistics: a client.
type Statter interface{ Stats() lock.Stats }

// Clients are the clients that are tracked. The zero Clients has none.
type Clients struct {
	mu      sync.Mutex
	tracked map[*tracked]struct{}
	gone    map[lock.Store]int64 // events that clients dropped which are tracked no more: a counter must not fall
}

type tracked struct{ client Statter }

// Track adds a client, until the returned function is called.
func (c *Clients) Track(client Statter) (untrack func()) {
	entry := &tracked{client}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tracked == nil {
		c.tracked, c.gone = make(map[*tracked]struct{}), make(map[lock.Store]int64)
	}
	c.tracked[entry] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, is := c.tracked[entry]; is {
			delete(c.tracked, entry)
			if s := client.Stats(); s.Coalesced > 0 {
				c.gone[s.Store] += s.Coalesced
			}
		}
	}
}

// Sums returns the sum of the clients of each store, and the least validity among them. A store of which no client
// is tracked has none, unless events were dropped: zeros would look like measurements.
func (c *Clients) Sums() map[lock.Store]lock.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums := make(map[lock.Store]lock.Stats)
	for of, dropped := range c.gone {
		sums[of] = lock.Stats{Store: of, Coalesced: dropped}
	}
	for entry := range c.tracked {
		s := entry.client.Stats()
		sum := sums[s.Store]
		if s.Holds > 0 && (sum.Holds == 0 || s.LeastValidity < sum.LeastValidity) {
			sum.LeastValidity = s.LeastValidity
		}
		sum.Store = s.Store
		sum.Holds += s.Holds
		sum.Kept += s.Kept
		sum.RenewalsDue += s.RenewalsDue
		sum.ReleasesOwed += s.ReleasesOwed
		sum.Coalesced += s.Coalesced
		sums[s.Store] = sum
	}
	return sums
}
