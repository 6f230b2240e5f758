package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const (
	idleScripts   = "idle_scripts_per_s"
	idleByProcess = "idle_scripts_per_s_and_process"
	crowdClients  = 10
)

// crowd is how what Redis does grows with the number of those who wait for one name in ten processes:
// when they take turns, and when nobody can.
func crowd() []Scenario {
	columns := []Column{
		{measure.Rate, "turns/s"}, {measure.Scripts, "scripts/turn"}, {measure.Commands, "redis calls/turn"},
		{measure.P99, "wait p99 µs"}, {idleScripts, "scripts/s idle"}, {idleByProcess, "scripts/s idle, a process"},
	}
	others := []string{contender.Bsm, contender.Rueidis}
	var scenarios []Scenario
	for _, n := range []int{10, 100, 1000} {
		scenarios = append(scenarios, Scenario{
			ID:         fmt.Sprintf("crowd%d", n),
			Title:      fmt.Sprintf("%d waiters on one name in %d processes", n, crowdClients),
			Contenders: append([]string{contender.Ours}, others...), Columns: columns,
			Rounds: 2, // calls are counted, which does not need more
			Goals:  []Goal{{Figure: measure.Rate, Of: contender.Ours, To: others, AtLeast: 1, Away: true}},
			Open:   func(lab *Lab) (Subject, error) { return openCrowd(lab, n) },
		})
	}
	return scenarios
}

// waiting is a load of which nobody holds anything for a while.
type waiting struct {
	*load
	holder contender.Client
}

func openCrowd(lab *Lab, n int) (Subject, error) {
	l, err := openLoad(lab, crowdClients, n, "crowd")
	if err != nil {
		return nil, err
	}
	w := &waiting{load: l.(*load)}
	if w.holder, err = lab.Client(0); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return w, nil
}

func (w *waiting) Close() error { return errors.Join(w.load.Close(), w.holder.Close()) }

func (w *waiting) Measure(ctx context.Context) (measure.Figures, error) {
	figures, err := w.load.Measure(ctx)
	if err != nil {
		return nil, err
	}
	return figures, w.idle(ctx, figures)
}

// idle has everybody wait for a holder that does not let go, and counts what that costs.
func (w *waiting) idle(ctx context.Context, figures measure.Figures) error {
	holder := w.holder.Lock("crowd")
	if err := holder.Lock(ctx); err != nil {
		return err
	}
	waits, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for _, l := range w.locks {
			wg.Go(func() {
				if l.Lock(waits) == nil {
					_ = l.Unlock() // the holder has let go at the end
				}
			})
		}
		wg.Wait()
	}()
	defer func() {
		cancel()
		<-done
	}()
	settle, look := 500*time.Millisecond, 2*w.lab.Scale.Slice
	if w.lab.Scale.Quick {
		settle = w.lab.Scale.Slice
	}
	time.Sleep(settle)
	mark, err := w.lab.Gauge().Mark(ctx)
	if err != nil {
		return err
	}
	time.Sleep(look)
	usage, err := mark.Since(ctx)
	if err != nil {
		return err
	}
	figures[idleScripts] = float64(usage.Redis.Scripts()) / usage.Elapsed.Seconds()
	figures[idleByProcess] = figures[idleScripts] / crowdClients
	return holder.Unlock()
}
