package history_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

var (
	seed  = flag.Uint64("history.seed", uint64(time.Now().UnixNano()), "decides the faults of the run")
	short = flag.String("history.short", "", "the only kinds of faults, with commas between, of runs that are "+
		"an eighth as long: to look for one bug")
	faults = flag.Int("history.faults", 6, "how many a short run has")
	linger = flag.Bool("history.linger", false, "short runs have holders that stay for long, and ten for each fault")
)

// run carries out a run, or a short one if requested.
func run(t *testing.T, cfg history.Config) *history.Report {
	t.Helper()
	cfg.Seed, cfg.Log = *seed, t.Logf
	if *short != "" {
		cfg.Kinds, cfg.Linger = strings.Split(*short, ","), *linger
		cfg.Acquisitions, cfg.Faults = cfg.Acquisitions/8, *faults
		if *linger {
			cfg.Acquisitions = 10 * *faults
		}
	}
	report, err := history.Run(t, cfg)
	require.NoError(t, report.Print(os.Stdout))
	require.NoError(t, err, "-history.seed=%d", *seed)
	require.GreaterOrEqual(t, report.Acquisitions, cfg.Acquisitions)
	require.GreaterOrEqual(t, report.Injected(), cfg.Faults)
	return report
}

func TestMain(m *testing.M) {
	role.Play()
	redistest.Main(m)
}

// G1, G2, G3, G4, G5, G6, G13: under every kind of fault that leaves Redis its data, no two holds are live
// together, tokens grow, and once the faults are over every caller gets the lock and nothing is left.
func TestHistoryUnderFaults(t *testing.T) {
	everything(t, run(t, history.Config{Acquisitions: 5000, Faults: 25}))
}

// everything requires that every kind of call succeeded in a run.
func everything(t *testing.T, report *history.Report) {
	t.Helper()
	if *short != "" {
		return
	}
	calls := []string{"do:ok", "own:ok", "break:ok", "max-hold:ok"}
	if site := report.Config.Site; site != history.Etcd && site != history.ZooKeeper { // which export no hold
		calls = append(calls, "export:ok", "import:ok")
	}
	if report.Config.Site == history.Single {
		calls = append(calls, "keep:ok", "read:ok", "set:ok", "permit:ok")
	}
	for _, call := range calls {
		require.Positive(t, report.Calls[call], call)
	}
	require.Positive(t, report.Unlocks["max-hold:lost"], "no hold was held for as long as it may be")
	require.Greater(t, report.Linearized.Operations, report.Acquisitions, "Porcupine saw few of them")
}

// G2, G13: if Redis forgets a hold, its holder learns of it within a renewal period and a command's limit.
// A client that gets the lock meanwhile has a greater token, so storage can reject the first.
func TestHistoryWhereRedisForgets(t *testing.T) {
	report := run(t, history.Config{
		Acquisitions: 240, Faults: 40, Lease: 1200 * time.Millisecond, Forgets: true,
	})
	require.GreaterOrEqual(t, report.Lost, report.Injected()/4, "too few losses met a holder")
	require.Positive(t, report.Stale, "nobody was inside without the lock: the bounds were never needed")
}

// The same on a cluster whose slots move, behind Sentinels, with failovers that lose nothing, and with a quorum of
// servers of which one at a time comes back without data.
func TestHistoryOnOtherSites(t *testing.T) {
	for _, site := range []history.Site{history.Cluster, history.Sentinel, history.Quorum} {
		t.Run(string(site), func(t *testing.T) {
			t.Parallel()
			run(t, history.Config{Acquisitions: 1000, Faults: 14, Site: site})
		})
	}
}

// The same on PostgreSQL, whose synchronous standby takes over with all that was confirmed.
func TestHistoryOnPostgreSQL(t *testing.T) {
	everything(t, run(t, history.Config{Acquisitions: 3000, Faults: 25, Site: history.Postgres}))
}

// The same behind a pooler, which delivers no notifications; and though a primary lives on when its standby takes over:
// nothing is granted there that the standby lacks.
func TestHistoryOnOtherSitesOfPostgreSQL(t *testing.T) {
	for _, site := range []history.Site{history.Bouncer, history.Deposed} {
		t.Run(string(site), func(t *testing.T) {
			t.Parallel()
			run(t, history.Config{Acquisitions: 1000, Faults: 18, Site: site})
		})
	}
}

// The same as where Redis forgets, on PostgreSQL: rows are edited by hand, and an asynchronous standby takes over that
// lacks the last commits.
func TestHistoryWherePostgreSQLForgets(t *testing.T) {
	report := run(t, history.Config{
		Acquisitions: 200, Faults: 24, Lease: 2 * time.Second, Forgets: true, Site: history.Postgres,
	})
	require.GreaterOrEqual(t, report.Lost, report.Injected()/4, "too few losses met a holder")
	require.Positive(t, report.Stale, "nobody was inside without the lock: the bounds were never needed")
}

// The same on etcd, whose leases are longer: a majority forgets nothing, so no two holds are live together, whatever
// happens to servers and clients.
func TestHistoryOnEtcd(t *testing.T) {
	everything(t, run(t, history.Config{Acquisitions: 700, Faults: 24, Site: history.Etcd}))
}

// The same on ZooKeeper, beside leaders that stand still, and servers that are cut off from one another.
func TestHistoryOnZooKeeper(t *testing.T) {
	everything(t, run(t, history.Config{Acquisitions: 700, Faults: 24, Site: history.ZooKeeper}))
}

// The same though a leader stands still for longer than a lease, and then may revoke leases that stand: a holder
// that loses its hold by that is told, and tokens are in order.
func TestHistoryOnEtcdWhoseLeaderComesBack(t *testing.T) {
	run(t, history.Config{Acquisitions: 300, Faults: 14, Site: history.Thawed})
}

// The same as where Redis forgets, on etcd: an operator deletes keys, and revokes leases of clients.
func TestHistoryWhereEtcdForgets(t *testing.T) {
	report := run(t, history.Config{Acquisitions: 100, Faults: 20, Forgets: true, Site: history.Etcd})
	require.GreaterOrEqual(t, report.Lost, report.Injected()/4, "too few losses met a holder")
	require.Positive(t, report.Stale, "nobody was inside without the lock: the bounds were never needed")
}

// The same as where Redis forgets, on ZooKeeper: an operator deletes nodes, and ends sessions of clients.
func TestHistoryWhereZooKeeperForgets(t *testing.T) {
	report := run(t, history.Config{Acquisitions: 100, Faults: 20, Forgets: true, Site: history.ZooKeeper})
	require.GreaterOrEqual(t, report.Lost, report.Injected()/4, "too few losses met a holder")
	require.Positive(t, report.Stale, "nobody was inside without the lock: the bounds were never needed")
}

// A run without every kind of fault, or without acquisitions, is refused: it would prove little.
func TestVoidRunsAreRefused(t *testing.T) {
	for _, cfg := range []history.Config{
		{Acquisitions: 5000, Faults: 5}, {Faults: 100},
		{Acquisitions: 5000, Faults: 100, Kinds: []string{"a fault that nobody wrote"}},
		{Acquisitions: 5000, Faults: 100, Site: history.Cluster, Forgets: true},
	} {
		_, err := history.Run(t, cfg)
		require.Error(t, err)
	}
}
