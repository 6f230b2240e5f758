package redlock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/redlock"
)

// A frozen node does not show in the latency of acquisition and release. The figures are printed; what is
// asserted is only that nobody waits for the node, since a busy machine has its own ideas of a p99.
func TestLatencyWithOneNodeFrozen(t *testing.T) {
	l := newLab(t, 5)
	o := options(30 * time.Second)
	client := l.client(l.direct(), o)
	lock := redlock.New(client, "latency")
	measure := func() (p50, p99 time.Duration) {
		var took []time.Duration
		for range 1000 {
			start := time.Now()
			once(t, lock)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took[len(took)/2], took[len(took)*99/100]
	}
	measure()
	p50, p99 := measure()
	l.servers[2].Stop()
	frozen50, frozen99 := measure()
	l.servers[2].Continue()
	t.Logf("healthy p50 %v p99 %v; one of five frozen p50 %v p99 %v: p99 ratio %.2f",
		p50, p99, frozen50, frozen99, float64(frozen99)/float64(p99))
	require.Less(t, frozen50, o.NodeTimeout/4)
	require.Less(t, frozen99, o.NodeTimeout)
}
