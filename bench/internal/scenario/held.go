package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const (
	heldBytes      = "bytes_per_lock"
	heldGoroutines = "goroutines_per_lock"
	heldScripts    = "scripts_per_s"
	heldCommands   = "commands_per_s"

	heldLease = 6 * time.Second
	workers   = 64 // that take and free them

	// patience bounds the taking and the freeing of all of them: a peer that misses a message waits for
	// ever.
	patience = time.Minute
)

// held is many locks that are held and kept alive. Of the peers only rueidislock does that by itself,
// and 100,000 of them are too many for it: it would send 50,000 scripts a second, and loses locks that
// it cannot renew in time.
func held() []Scenario {
	both := []string{contender.Ours, contender.Rueidis}
	columns := []Column{
		{heldBytes, "bytes/lock"}, {heldGoroutines, "goroutines/lock"}, {heldScripts, "scripts/s"},
		{heldCommands, "redis calls/s"}, {measure.RedisLoad, "redis core %"}, {measure.OwnLoad, "client core %"},
	}
	little := Goal{Figure: heldBytes, Of: contender.Ours, AtMost: 750}
	seldom := Goal{Figure: heldScripts, Of: contender.Ours, To: both[1:], AtMost: 0.02}
	return []Scenario{
		{
			ID: "held20000", Title: fmt.Sprintf("20,000 locks held, lease %v", heldLease),
			Contenders: both, Columns: columns, Goals: []Goal{little, seldom}, Rounds: 1,
			Open: func(lab *Lab) (Subject, error) { return &holding{lab: lab, locks: 20_000}, nil },
		},
		{
			ID: "held100000", Title: fmt.Sprintf("100,000 locks held, lease %v", heldLease),
			Contenders: both[:1], Columns: columns, Goals: []Goal{little}, Rounds: 1,
			Open: func(lab *Lab) (Subject, error) { return &holding{lab: lab, locks: 100_000}, nil },
		},
	}
}

// holding opens a client for every round, so that the heap is measured from nothing.
type holding struct {
	lab   *Lab
	locks int
}

func (h *holding) Close() error { return nil }

func (h *holding) Measure(ctx context.Context) (figures measure.Figures, err error) {
	n, hold := h.lab.Scale.of(h.locks), heldLease+heldLease/6
	if h.lab.Scale.Quick {
		hold = h.lab.Scale.Slice
	}
	client, err := h.lab.Client(heldLease)
	if err != nil {
		return nil, err
	}
	closed := sync.OnceValue(client.Close)
	defer func() { err = errors.Join(err, closed()) }()
	guard := time.AfterFunc(hold+patience, func() { _ = closed() })
	defer guard.Stop()
	locks := make([]contender.Lock, n)
	for i := range locks {
		locks[i] = client.Lock(fmt.Sprintf("held:%d", i))
	}
	warm := client.Lock("warm")
	if err := errors.Join(warm.Lock(ctx), warm.Unlock()); err != nil {
		return nil, err
	}
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	if err := each(locks, workers, take); err != nil {
		return nil, err
	}
	figures = measure.Figures{
		heldBytes:      float64(heapInUse()-heap) / float64(n),
		heldGoroutines: float64(runtime.NumGoroutine()-goroutines) / float64(n),
	}
	if err := watch(ctx, h.lab, hold, figures); err != nil {
		return nil, err
	}
	return figures, each(locks, workers, contender.Lock.Unlock)
}

// take locks with a context that cannot end: one that can keeps a note of every context that is made
// from it, which is no library's memory.
func take(l contender.Lock) error { return l.Lock(context.Background()) }

// watch looks on while nothing is taken or freed.
func watch(ctx context.Context, lab *Lab, d time.Duration, figures measure.Figures) error {
	mark, err := lab.Gauge().Mark(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return ctx.Err()
	}
	usage, err := mark.Since(ctx)
	if err != nil {
		return err
	}
	per := usage.Per(1)
	figures[measure.RedisLoad], figures[measure.OwnLoad] = per[measure.RedisLoad], per[measure.OwnLoad]
	figures[heldScripts] = float64(usage.Redis.Scripts()) / usage.Elapsed.Seconds()
	figures[heldCommands] = float64(usage.Redis.All()) / usage.Elapsed.Seconds()
	return nil
}

// each does something to all locks, many at a time, until there is an error.
func each[L any](locks []L, workers int, do func(L) error) error {
	all, ctx := errgroup.WithContext(context.Background())
	all.SetLimit(workers)
	for _, l := range locks {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() error { return do(l) })
	}
	return all.Wait()
}

// heapInUse is what lives on the heap and on stacks: a goroutine is memory as well.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
