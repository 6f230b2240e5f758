package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

const (
	takeP50 = "take_p50_us"
	takeP99 = "take_p99_us"
)

// keep is locks that stay with the process which uses them: what they cost there, and what they cost another process
// that comes for one. Peers, and ours without Keep, do what they always do.
func keep() []Scenario {
	all := append([]string{contender.OursKeep, contender.Ours}, peers...)
	var scenarios []Scenario
	least := map[int]float64{1: 200, 64: 30, 512: 30}
	for _, n := range []int{1, 64, 512} {
		scenarios = append(scenarios, Scenario{
			ID: fmt.Sprintf("keep%d", n), Title: fmt.Sprintf("%d goroutines, a kept name each", n),
			Contenders: all, Columns: pairColumns,
			Rounds: 2,
			Open:   func(lab *Lab) (Subject, error) { return openLoad(lab, 1, n, "") },
			Goals: []Goal{
				{Figure: measure.Rate, Of: contender.OursKeep, To: peers, AtLeast: least[n], Away: true},
				{Figure: measure.Commands, Of: contender.OursKeep, To: peers, AtMost: 0.01, Away: true},
			},
		})
	}
	return append(scenarios, Scenario{
		ID: "keep-take", Title: "A name that another process used a moment ago: Lock",
		Contenders: []string{contender.OursKeep, contender.Ours},
		Columns:    []Column{{takeP50, "p50 µs"}, {takeP99, "p99 µs"}},
		Rounds:     2,
		Open:       openTake,
		Goals:      []Goal{{Figure: takeP99, Of: contender.OursKeep, AtMost: 10_000}},
	})
}

// taking is a process that locks names which another one used a moment ago.
type taking struct {
	lab     *Lab
	clients [2]contender.Client
	nth     int
}

func openTake(lab *Lab) (Subject, error) {
	r := &taking{lab: lab}
	for i := range r.clients {
		c, err := lab.Client(0)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.clients[i] = c
	}
	return r, nil
}

// Measure lets one client use a name, and then the other client take it. Each time has a name of its own, since a name
// that was taken from its process is not kept there for a while.
func (r *taking) Measure(ctx context.Context) (measure.Figures, error) {
	var took []time.Duration
	for range r.lab.of(200) {
		r.nth++
		name := fmt.Sprintf("account:%d", r.nth)
		for range 3 { // the first token of a name has none beside it
			lock := r.clients[0].Lock(name)
			if err := lock.Lock(ctx); err != nil {
				return nil, err
			}
			time.Sleep(2 * time.Millisecond)
			if err := lock.Unlock(); err != nil {
				return nil, err
			}
		}
		time.Sleep(rand.N(10 * time.Millisecond))
		lock, began := r.clients[1].Lock(name), time.Now()
		if err := lock.Lock(ctx); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if err := lock.Unlock(); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	return measure.Figures{
		takeP50: micros(stats.Percentile(took, 0.5)), takeP99: micros(stats.Percentile(took, 0.99)),
	}, nil
}

func (r *taking) Close() error {
	var errs []error
	for _, c := range r.clients {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
