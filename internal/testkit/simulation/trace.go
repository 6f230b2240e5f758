package simulation

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
)

// trace is what the processes of a schedule sent, and when.
type trace struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// over is a network that is traced; without a trace it is n itself.
func (tr *trace) over(n *network) memstore.Network {
	if tr == nil {
		return n
	}
	return &traced{n, tr}
}

type traced struct {
	*network
	by *trace
}

// Fate implements [memstore.Network].
func (n *traced) Fate(r memstore.Request) memstore.Fate {
	if r.Client >= len(n.stops) { // the keeper's
		return n.network.Fate(r)
	}
	n.by.mu.Lock()
	n.by.lines = append(n.by.lines, fmt.Sprintf("%016d client %d request %d %v %s",
		time.Since(n.began), r.Client, r.Nth, r.Kind, r.Key))
	n.by.mu.Unlock()
	return n.network.Fate(r)
}

// sorted are the lines in order. Those of one instant have none among one another: which goroutine of several that are
// ready comes first changes nothing unless it changes what is sent.
func (tr *trace) sorted() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Sorted(slices.Values(tr.lines))
}

// Replays is how a seed's schedule repeats itself.
type Replays struct {
	Seed     uint64
	Runs     int
	Same     int // those that sent what the first one did, at the same instants
	Requests int // of the first
	Agreed   int // of them, before the first difference, in the run that differed soonest
}

// Replay runs the schedule of a seed some times, and compares what is sent.
func Replay(t *testing.T, seed uint64, runs int) (r Replays) {
	t.Helper()
	var first []string
	for n := range runs {
		var tr trace
		synctest.Test(t, func(t *testing.T) {
			for _, problem := range run(t, seed, &tr) {
				t.Errorf("seed %d: %s", seed, problem)
			}
		})
		lines := tr.sorted()
		if n == 0 {
			first = lines
			r = Replays{Seed: seed, Requests: len(first), Agreed: len(first)}
		}
		r.Runs++
		if slices.Equal(lines, first) {
			r.Same++
			continue
		}
		agreed := 0
		for agreed < min(len(lines), len(first)) && lines[agreed] == first[agreed] {
			agreed++
		}
		r.Agreed = min(r.Agreed, agreed)
	}
	return r
}
