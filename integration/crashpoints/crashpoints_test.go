package crashpoints_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// Every point times every action: the strike happens once, no stays overlap, nothing is left behind, and the lock can
// be taken again.
func TestPairs(t *testing.T) { pairs(t, "redis") }

// The same on PostgreSQL.
func TestPairsOnPostgreSQL(t *testing.T) { pairs(t, "postgres") }

// The same on etcd.
func TestPairsOnEtcd(t *testing.T) { pairs(t, "etcd") }

// The same on ZooKeeper.
func TestPairsOnZooKeeper(t *testing.T) { pairs(t, "zookeeper") }

func pairs(t *testing.T, on string) {
	t.Parallel()
	var mu sync.Mutex // guards results
	results := make(map[crash.Point]map[action]found)
	start := time.Now()
	t.Cleanup(func() { t.Logf("%s\nin %v", table(results), time.Since(start).Round(time.Second)) })
	for _, p := range sites[on].points() {
		results[p] = make(map[action]found)
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			for _, a := range actions() {
				if senseless(p, a) != "" {
					continue
				}
				t.Run(string(a), func(t *testing.T) {
					t.Parallel()
					l := newLab(t, on, p, a)
					l.run()
					f := l.check()
					if len(f.words) > 0 {
						t.Log(strings.Join(f.words, "; "))
					}
					mu.Lock()
					defer mu.Unlock()
					results[p][a] = f
				})
			}
		})
	}
}

// table has a line per point and a column per action: how often the strike happened, "-" where the pair makes no
// sense, "." where it did not run or failed; "~" marks a process that was starved, so that a loss was tolerated which
// is a failure otherwise.
func table(results map[crash.Point]map[action]found) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-16s", "")
	for _, a := range actions() {
		fmt.Fprintf(&b, " %-11s", a)
	}
	total, worst := 0, time.Duration(0)
	for _, p := range crash.Points() {
		if results[p] == nil {
			continue // nothing reaches it there
		}
		fmt.Fprintf(&b, "\n%-16s", p)
		for _, a := range actions() {
			f, ran := results[p][a]
			cell := "."
			switch {
			case ran:
				cell = fmt.Sprint(f.fired)
				total, worst = total+f.fired, max(worst, f.fresh)
				if f.starved && (a.transparent() || a == cancel) {
					cell += "~"
				}
				if f.cut > 0 {
					cell += fmt.Sprintf(" (cut %d)", f.cut)
				}
			case senseless(p, a) != "":
				cell = "-"
			}
			fmt.Fprintf(&b, " %-11s", cell)
		}
	}
	fmt.Fprintf(&b, "\n%d pairs fired; a fresh client waited %v at most", total, worst.Round(time.Millisecond))
	return b.String()
}

// Every omitted pair is listed with a reason; every other one has a way to its point.
func TestPairsWithoutSense(t *testing.T) {
	t.Parallel()
	left := 0
	for _, p := range crash.Points() {
		require.NotZero(t, courseTo(p), "no scenario reaches %s", p)
		for _, a := range actions() {
			if why := senseless(p, a); why != "" {
				left++
				t.Logf("%s/%s: %s", p, a, why)
			}
		}
	}
	for name, on := range sites {
		t.Logf("%s: nothing reaches %q", name, on.lacks)
	}
	require.Equal(t, 7+2, left)
	require.Len(t, crash.Points(), 21)
	require.Len(t, actions(), 11)
}

func at(fence int64, from, to time.Duration) stay {
	return stay{Hold: witness.Hold{Fence: fence, From: from, To: to}}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	stays := []stay{at(1, 10, 20), at(2, 12, 30)}
	require.Len(t, overlaps(stays, 0), 1)
	require.Len(t, overlaps(stays, 19), 1, "forgiven too early")
	require.Empty(t, overlaps(stays, 20))
}

func TestDisorder(t *testing.T) {
	t.Parallel()
	a, moved := at(5, 10, 20), at(5, 30, 40)
	moved.Moved = true
	require.Empty(t, disorder([]stay{a, at(6, 30, 40)}, 0))
	require.Empty(t, disorder([]stay{a, moved}, 0))
	require.NotEmpty(t, disorder([]stay{a, at(5, 30, 40)}, 0))
	require.NotEmpty(t, disorder([]stay{at(4, 30, 40), a}, 0))
	late := at(4, 30, 40)
	late.Who = "subject"
	require.Empty(t, disorder([]stay{a, late}, 30))
	require.NotEmpty(t, disorder([]stay{a, late}, 29))
}
