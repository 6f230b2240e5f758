package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const (
	waiterBytes      = "bytes_per_waiter"
	waiterGoroutines = "goroutines_per_waiter"

	idleWaiters = 1000
)

var onLoopback time.Duration

// idle is what goroutines of one process cost that wait for what another process does not let go, and what that
// costs Redis: for one name, and for a name each.
func idle() []Scenario {
	var scenarios []Scenario
	for _, names := range []int{1, idleWaiters} {
		title := "1,000 idle waiters of one process, one name"
		if names > 1 {
			title = "1,000 idle waiters of one process, a name each"
		}
		scenarios = append(scenarios, Scenario{
			ID: fmt.Sprintf("idle%d", names), Title: title,
			Contenders: append([]string{contender.Ours}, peers...), Rounds: 1, At: &onLoopback,
			Columns: []Column{
				{waiterBytes, "bytes/waiter"}, {waiterGoroutines, "goroutines/waiter"},
				{measure.OwnLoad, "client core %"}, {measure.RedisLoad, "redis core %"}, {heldScripts, "scripts/s"},
			},
			Goals: []Goal{
				{Figure: waiterBytes, Of: contender.Ours, To: peers, AtMost: 3},
				{Figure: measure.OwnLoad, Of: contender.Ours, AtMost: 5},
			},
			Open: func(lab *Lab) (Subject, error) { return openIdlers(lab, names) },
		})
	}
	return scenarios
}

// idlers wait for names that the holder has.
type idlers struct {
	lab    *Lab
	names  int
	holder contender.Client
	waits  contender.Client
}

func openIdlers(lab *Lab, names int) (Subject, error) {
	i := &idlers{lab: lab, names: names}
	var err error
	if i.holder, err = lab.Client(0); err != nil {
		return nil, err
	}
	if i.waits, err = lab.Client(0); err != nil {
		return nil, errors.Join(err, i.holder.Close())
	}
	return i, nil
}

func (i *idlers) Close() error { return errors.Join(i.waits.Close(), i.holder.Close()) }

func (i *idlers) Measure(ctx context.Context) (figures measure.Figures, err error) {
	n, settle, look := i.lab.of(idleWaiters), 500*time.Millisecond, i.lab.Slice
	if i.lab.Quick {
		settle = i.lab.Slice
	}
	var held, wanted []contender.Lock
	name := func(at int) string { return fmt.Sprintf("idle:%d", at%min(i.names, n)) }
	for at := range min(i.names, n) {
		held = append(held, i.holder.Lock(name(at)))
	}
	for at := range n {
		wanted = append(wanted, i.waits.Lock(name(at)))
	}
	if err := each(held, workers, take); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, each(held, workers, contender.Lock.Unlock)) }()
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	waits, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, l := range wanted {
		wg.Go(func() {
			if l.Lock(waits) == nil {
				_ = l.Unlock()
			}
		})
	}
	defer wg.Wait()
	defer cancel()
	time.Sleep(settle)
	figures = measure.Figures{
		waiterBytes:      float64(heapInUse()-heap) / float64(n),
		waiterGoroutines: float64(runtime.NumGoroutine()-goroutines) / float64(n),
	}
	return figures, watch(ctx, i.lab, look, figures)
}
