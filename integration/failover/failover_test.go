package failover_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/failover"
)

// What a failover may cost, at every kind of one. Every run has the machine for itself.
func TestWhatAFailoverCosts(t *testing.T) {
	type run struct {
		kind  failover.Kind
		lease time.Duration
	}
	runs := []run{{failover.SentinelPlanned, 30 * time.Second}, {failover.ClusterKilled, 30 * time.Second}}
	for _, kind := range failover.Kinds {
		runs = append(runs, run{kind, 9 * time.Second})
	}
	var all []failover.Figures
	for _, run := range runs {
		t.Run(string(run.kind)+", "+run.lease.String(), func(t *testing.T) {
			f := failover.Run(t, failover.NewSite(t, run.kind), run.lease, failover.Ours)[0]
			all = append(all, f)
			t.Logf("%+v", f)
			require.Zero(t, f.LostInTime, "holds were lost though the replica served in time")
			require.LessOrEqual(t, f.FirstWaiters, 2*time.Second)
			require.LessOrEqual(t, f.FirstOthers, 2*time.Second)
			require.Zero(t, f.Unexplained, "two in one lock, and Redis lost nothing")
			require.LessOrEqual(t, f.OverlapLongest, failover.RenewalPeriod(run.lease))
			if run.kind == failover.SentinelPlanned {
				require.Zero(t, f.Stalled)
			}
		})
	}
	require.NoError(t, failover.Table(os.Stderr, all))
}
