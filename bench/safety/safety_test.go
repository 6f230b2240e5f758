package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

func TestMain(m *testing.M) {
	role.Play()
	servers.AtEnd(closeJava)
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
		"redsync", "Sentinel failover, lock lost",
		"rueidislock", "Sentinel failover, lock lost",
		"Redisson RLock", "replies lost",
		"Redisson RFencedLock", "killed",
		"cirello.io/pglock", "killed",
		"etcd concurrency.Mutex", "killed",
		"go-zookeeper Lock", "killed",
		"Curator InterProcessMutex", "replies lost",
		"holdfast rlock", "cut off",
		"holdfast rlock", "stopped",
		"holdfast rlock", "restart, data lost",
		"holdfast rlock", "Sentinel failover, lock lost",
		"holdfast rlock", "server's clock ahead",
		"holdfast rlock", "server's clock back",
		"holdfast rlock, context only", "server frozen",
		"holdfast rlock, MinReplicas 1", "failover, lock lost",
		"holdfast rlock, MinReplicas 1", "Sentinel failover, lock lost",
		"holdfast pglock", "cut off",
		"holdfast pglock", "stopped",
		"holdfast etcdlock", "cut off",
		"holdfast etcdlock", "stopped",
		"holdfast zklock", "cut off",
		"holdfast zklock", "stopped",
		control, "requests late",
		control, "server's clock ahead",
		control, "stopped",
	)
	results := runCells(cells, brief, 1, 5, io.Discard)
	var table strings.Builder
	require.NoError(t, report(settings{}, results, time.Minute, &table))
	for _, r := range results {
		require.NoError(t, r.err, table.String())
		if r.absent != "" {
			require.Empty(t, os.Getenv("CI"), "%s is not run: %s", r.entry.name, r.absent)
			require.Contains(t, table.String(), r.absent)
			t.Logf("%s, %s: %s", r.entry.name, r.fault.name, r.absent)
			continue
		}
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
		if r.hits > 0 && r.fault.victim != killed {
			require.Len(t, r.told, 1, table.String())
		}
	}
	for _, caught := range results[len(results)-3:] {
		require.NotEmpty(t, caught.overlaps, "the harness does not catch a lock that excludes nobody:\n%s", table.String())
	}
}

// The page shows what the last whole run has written.
func TestThePageShowsTheResults(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "peers-safety.md"))
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join("..", "results", "safety.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "<!-- safety -->\n"+string(results)+"<!-- /safety -->")
	for _, e := range entries {
		require.Contains(t, string(results), "| "+e.name+" (", "the whole table is shown")
	}
}

// Where there is no Java, the table says so.
func TestALibraryThatCannotRunIsNotLeftOut(t *testing.T) {
	t.Setenv("PATH", "")
	cells := some(t, "Redisson RLock", "stopped")
	cells[0].entry.java = &javaProgram{name: "Redisson"}
	results := runCells(cells, brief, 1, 1, io.Discard)
	require.NoError(t, results[0].err)
	now := tableOf("a run: "+strings.Join(versions(results), ", "), results)
	require.Equal(t, notRun, now.rows[0].of("acquired"))
	require.Contains(t, now.text(), "not run: Redisson: ")
	require.Contains(t, now.markdown(), "| Redisson RLock (30s) | not run |")

	clocks := runCells(some(t, control, "server's clock ahead"), brief, 1, 1, io.Discard)
	require.Contains(t, clocks[0].absent, "the server's clock cannot be set")
}

// A run of some cells keeps what earlier ones have measured of the others, and which run measured what.
func TestARunReplacesItsCellsAlone(t *testing.T) {
	cells := some(t, "redsync", "none", "redsync", "stopped", control, "none")
	figures := func(p pair, acquired int) result {
		return result{entry: p.entry, fault: p.fault, acquisitions: acquired}
	}
	old := tableOf("the first", []result{figures(cells[0], 1), figures(cells[1], 2), figures(cells[2], 3)})
	read, err := parseTable(old.text())
	require.NoError(t, err)
	require.Equal(t, old, read)

	both := tableOf("another", []result{figures(cells[1], 20)}).over(read)
	require.Equal(t, []string{"the first", "another"}, both.runs)
	var seen []string
	for _, r := range both.rows {
		seen = append(seen, strings.Join([]string{r.of("library"), r.of("fault"), r.of("acquired")}, ", "))
	}
	require.Equal(t, []string{"redsync, none, 1", "redsync, stopped, 20", control + ", none, 3"}, seen)
	require.Equal(t, []int{1, 2, 1}, []int{both.rows[0].run, both.rows[1].run, both.rows[2].run})

	all := tableOf("the last", []result{figures(cells[0], 1), figures(cells[2], 1)}).over(both)
	require.Equal(t, []string{"another", "the last"}, all.runs, "nothing of the first is left")
	require.Equal(t, []int{2, 1, 2}, []int{all.rows[0].run, all.rows[1].run, all.rows[2].run})
}

func TestATableIsReadStrictly(t *testing.T) {
	empty, err := parseTable("")
	require.NoError(t, err)
	require.Equal(t, table{}, empty)
	fewer, err := parseTable("1. a run\n\nrun  library  fault\n1    redsync  none\n")
	require.NoError(t, err)
	require.Equal(t, "–", fewer.rows[0].of("acquired"), "it had no such column then")
	for _, bad := range []string{"2    redsync  none", "1    redsync", "x    redsync  none"} {
		_, err := parseTable("1. a run\n\nrun  library  fault\n" + bad + "\n")
		require.Error(t, err, bad)
	}
}

func TestACommandRepeatsARun(t *testing.T) {
	require.Equal(t, "go run ./safety -seed 1", settings{seed: 1, lanes: usualLanes}.command())
	require.Equal(t, `go run ./safety -only "a, b" -fault "c" -quick -lanes 1 -seed 7`,
		settings{seed: 7, only: "a, b", fault: "c", quick: true, lanes: 1}.command())
}

func TestAProcessWithAClockOfItsOwnIsRefused(t *testing.T) {
	r := newRecord()
	require.NoError(t, r.take("p", fmt.Sprint("clock ", int64(stamp.Now()))))
	require.Error(t, r.take("p", "clock 1"))
	require.Error(t, r.take("p", fmt.Sprint("clock ", int64(stamp.Now()+time.Minute))))
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
	longest, often := unheld(visits, 0, 10, interval{})
	require.Equal(t, time.Duration(20), longest)
	require.Equal(t, 1, often)
	longest, _ = unheld(visits, 25, 10, interval{})
	require.Equal(t, time.Duration(6), longest, "what was before a moment does not count")
	longest, often = unheld(visits, 0, 10, interval{9, 28})
	require.Equal(t, time.Duration(4), longest, "nor a time in which nobody asked: 1 of 5, and 17 of 20")
	require.Zero(t, often)
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
