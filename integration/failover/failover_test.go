package failover_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/failover"
)

// Defects B2 and B3: the permitted cost of every kind of failover. The limits allow for a busy machine by how late it
// wakes a goroutine that only sleeps; a call is several such steps, here and in servers.
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
			site := failover.NewSite(t, run.kind)
			f := failover.Run(t, site, run.lease, failover.Ours)[0]
			all = append(all, f)
			t.Logf("%+v", f)
			require.LessOrEqual(t, f.LostInTime, site.Alone(), "holds were lost though the replica served in time: %s",
				strings.Join(f.Told, "\n"))
			if site.Alone() > 0 {
				require.Equal(t, site.Alone(), f.Lost, "those of a client that is alone with the old primary, and no others")
			}
			soon := 2*time.Second + 10*f.Late
			require.LessOrEqual(t, f.FirstWaiters, soon)
			require.LessOrEqual(t, f.FirstOthers, soon)
			require.Zero(t, f.Unexplained, "two in one lock, and Redis lost nothing")
			require.LessOrEqual(t, f.OverlapLongest, failover.RenewalPeriod(run.lease))
			if run.kind == failover.SentinelPlanned {
				require.LessOrEqual(t, f.StallLongest, soon)
			}
		})
	}
	require.NoError(t, failover.Table(os.Stderr, all))
}
