package crashpoints_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
)

// Every point times every action: the strike happens once, no stays overlap, nothing is left behind, and the lock can
// be taken again.
func TestPairs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards results
	results := make(map[crash.Point]map[action]found)
	start := time.Now()
	t.Cleanup(func() { t.Logf("%s\nin %v", table(results), time.Since(start).Round(time.Second)) })
	for _, p := range crash.Points() {
		results[p] = make(map[action]found)
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			for _, a := range actions() {
				if senseless(p, a) != "" {
					continue
				}
				t.Run(string(a), func(t *testing.T) {
					t.Parallel()
					l := newLab(t, p, a)
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
	require.Equal(t, 7+2, left)
	require.Len(t, crash.Points(), 21)
	require.Len(t, actions(), 11)
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	a := stay{From: 10, To: 20, Fence: 1}
	for name, c := range map[string]struct {
		b        stay
		forgiven time.Duration
		want     bool
	}{
		"after":              {b: stay{From: 21, To: 30}},
		"inside":             {b: stay{From: 12, To: 13}, want: true},
		"around":             {b: stay{From: 1, To: 30}, want: true},
		"begins at the end":  {b: stay{From: 20, To: 30}, want: true},
		"forgiven":           {b: stay{From: 12, To: 30}, forgiven: 20},
		"forgiven too early": {b: stay{From: 12, To: 30}, forgiven: 19, want: true},
	} {
		assert.Equal(t, c.want, overlap([]stay{a, c.b}, c.forgiven) != "", name)
		assert.Equal(t, c.want, overlap([]stay{c.b, a}, c.forgiven) != "", name)
	}
}

func TestDisorder(t *testing.T) {
	t.Parallel()
	a := stay{From: 10, To: 20, Fence: 5}
	require.Empty(t, disorder([]stay{a, {From: 30, To: 40, Fence: 6}}))
	require.Empty(t, disorder([]stay{a, {From: 30, To: 40, Fence: 5, Moved: true}}))
	require.NotEmpty(t, disorder([]stay{a, {From: 30, To: 40, Fence: 5}}))
	require.NotEmpty(t, disorder([]stay{{From: 30, To: 40, Fence: 4}, a}))
}
