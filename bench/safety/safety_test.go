package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

func TestMain(m *testing.M) {
	role.Play()
	servers.Main(m)
}

// some returns the cells with these names, library and fault in turn.
func some(t *testing.T, names ...string) (cells []pair) {
	t.Helper()
	for i := 0; i < len(names); i += 2 {
		e, known := entryOf(names[i])
		require.True(t, known, names[i])
		at := len(cells)
		for _, f := range faults {
			if f.name == names[i+1] {
				cells = append(cells, pair{e, f})
			}
		}
		require.Len(t, cells, at+1, names[i+1])
	}
	return cells
}

// Every library runs under a fault that does not take long with its lease. Of the peers nothing is asserted but that
// they could be driven. Ours have no overlap but where the store has lost the lock, and there the holder is told.
func TestEveryLibrary(t *testing.T) {
	cells := some(t,
		"bsm/redislock", "restart, data lost",
		"redsync", "replies lost",
		"rueidislock", "restart, data lost",
		"cirello.io/pglock", "killed",
		"etcd concurrency.Mutex", "killed",
		"holdfast rlock", "cut off",
		"holdfast rlock", "stopped",
		"holdfast rlock", "restart, data lost",
		"holdfast rlock, context only", "server frozen",
		"holdfast rlock, MinReplicas 1", "failover, lock lost",
		"holdfast pglock", "cut off",
		"holdfast pglock", "stopped",
		"holdfast etcdlock", "cut off",
		"holdfast etcdlock", "stopped",
		control, "requests late",
		control, "stopped",
	)
	results := runCells(cells, brief, 1, 5, io.Discard)
	var table strings.Builder
	require.NoError(t, report(settings{}, results, time.Minute, &table))
	for _, r := range results {
		require.NoError(t, r.err, table.String())
		require.NotZero(t, r.acquisitions, table.String())
		require.Contains(t, table.String(), r.entry.name)
		if r.entry.module != ours {
			continue
		}
		if claimOf(r.entry, r.fault) == claimed {
			require.Empty(t, r.overlaps, table.String())
		}
		require.Zero(t, r.disorder, table.String())
		require.Equal(t, r.acquisitions, r.tokens)
		require.Zero(t, r.stuck, table.String())
		require.GreaterOrEqual(t, r.freeAfter, time.Duration(0), table.String())
		require.Zero(t, r.untold, table.String())
		if r.hits > 0 {
			require.Len(t, r.told, 1, table.String())
		}
	}
	for _, caught := range results[len(results)-2:] {
		require.NotEmpty(t, caught.overlaps, "the harness does not catch a lock that excludes nobody:\n%s", table.String())
	}
}

// The page shows what the last whole run has written.
func TestThePageShowsTheResults(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "peers-safety.md"))
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join("..", "results", "safety.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), before+string(results)+after)
	for _, e := range entries {
		require.Contains(t, string(results), "| "+e.name+" (", "the whole table is shown")
	}
}

func TestAPageIsBroughtUpToDate(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("a\n"+before+"old\n"+after+"b\n"), 0o644))
	require.NoError(t, show(page, "new\n"))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "a\n"+before+"new\n"+after+"b\n", string(text))
	require.NoError(t, os.WriteFile(page, []byte(before), 0o644))
	require.Error(t, show(page, "new\n"))
}

func TestACellHasItsSeedInEveryRun(t *testing.T) {
	one := settings{only: "redsync", fault: "stopped"}.cells()
	require.Len(t, one, 1)
	seeds := make(map[uint64]bool)
	for _, p := range (settings{}).cells() {
		seeds[p.seed(1)] = true
	}
	require.Len(t, seeds, len(settings{}.cells()))
	require.True(t, seeds[one[0].seed(1)])
}

func at(from, to int) visit {
	return visit{Hold: witness.Hold{From: time.Duration(from), To: time.Duration(to)}, Over: true}
}

func TestAnOverlapIsWhatAHolderWasNotToldOf(t *testing.T) {
	require.Empty(t, overlaps([]visit{at(1, 3), at(4, 9), at(10, 12)}))
	require.Empty(t, overlaps([]visit{at(1, 9), at(4, 3)}), "the second was told before it did anything")
	found := overlaps([]visit{at(1, 9), at(4, 5), at(6, 7)})
	require.Len(t, found, 1, "a holder counts once")
	require.Equal(t, time.Duration(5), found[0].beyond)
	stopped := at(1, 9)
	stopped.Resumed = 8
	require.Equal(t, time.Duration(1), overlaps([]visit{stopped, at(4, 5)})[0].beyond, "a stop does not count")
}

func TestNobodyInside(t *testing.T) {
	visits := []visit{at(1, 5), at(2, 3), at(10, 11), at(31, 32)}
	longest, often := unheld(visits, 0, 10)
	require.Equal(t, time.Duration(20), longest)
	require.Equal(t, 1, often)
	longest, _ = unheld(visits, 25, 10)
	require.Equal(t, time.Duration(6), longest, "what was before a moment does not count")
}

func TestARecordRefusesWhatItDoesNotKnow(t *testing.T) {
	r := newRecord()
	require.Error(t, r.take("p", "nonsense 1"))
	require.Error(t, r.take("p", ""))
	require.Error(t, r.take("p", "call now"))
	require.NoError(t, r.take("p", "call 1"))
	require.NoError(t, r.take("p", "in 1 2 3 0"))
	require.Empty(t, r.ended())
	require.NoError(t, r.take("p", "out 4 0 0 0"))
	require.Len(t, r.ended(), 1)
}
