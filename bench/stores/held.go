package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

const (
	heldBytes      = "bytes_per_lock"
	heldGoroutines = "goroutines_per_lock"

	takers = 64
)

// third is the name of a figure that is counted for a third of a lease, in which every hold is renewed once.
func third(figure string) string { return figure + "_per_third_of_a_lease" }

// held is many locks that are held and kept alive for the time of a lease.
func held() []situation {
	of := func(n int, lease time.Duration) situation {
		return situation{
			id:    fmt.Sprintf("held%d", n),
			title: fmt.Sprintf("%d locks held, lease %v: calls in a third of that", n, lease),
			columns: []scenario.Column{
				{Figure: third(renewing), Head: "calls that renew"}, {Figure: third(calls), Head: "all calls"},
				{Figure: third(keepAlive), Head: "keep-alives of etcd"}, {Figure: third(reads), Head: "its reads"},
				{Figure: third(attaching), Head: "attachments to ZooKeeper"},
				{Figure: heldBytes, Head: "bytes/lock"}, {Figure: heldGoroutines, Head: "goroutines/lock"},
				{Figure: measure.OwnLoad, Head: "client core %"},
			},
			rounds: 1, at: &nowhere, special: true,
			open: func(_ context.Context, lab *lab) (scenario.Subject, error) { return &holding{lab, n, lease}, nil },
		}
	}
	return []situation{of(1000, 9*time.Second), of(10_000, 30*time.Second)}
}

// holding opens a client for every round, so that the heap is measured from nothing.
type holding struct {
	lab   *lab
	n     int
	lease time.Duration
}

// Close does nothing.
func (h *holding) Close() error { return nil }

func (h *holding) Measure(ctx context.Context) (figures measure.Figures, err error) {
	n, hold := h.n, h.lease
	if h.lab.Quick {
		n, hold = n/50, h.lab.Slice
	}
	client, err := h.lab.client(ctx, h.lease)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	named := func(prefix string, n int) (locks []contender.Lock) {
		for i := range n {
			locks = append(locks, client.Lock(fmt.Sprintf("%s:%d", prefix, i)))
		}
		return locks
	}
	warm, locks := named("warm", takers), named("held", n) // connections are made
	if err := errors.Join(each(warm, take), each(warm, contender.Lock.Unlock)); err != nil {
		return nil, err
	}
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	if err := each(locks, take); err != nil {
		return nil, err
	}
	bytes, more := float64(heapInUse()-heap), float64(runtime.NumGoroutine()-goroutines)
	mark, err := h.lab.mark(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(hold):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if figures, err = mark.per(ctx, 1); err != nil {
		return nil, err
	}
	figures[heldBytes], figures[heldGoroutines] = bytes/float64(n), more/float64(n)
	thirds := hold.Seconds() / (h.lease / 3).Seconds()
	for _, name := range []string{renewing, calls, keepAlive, reads, attaching} {
		if sum, ok := figures[name]; ok {
			figures[third(name)] = sum / thirds
		}
	}
	return figures, each(locks, contender.Lock.Unlock)
}

// take locks with a context that cannot end: one that can keeps a note of every context that is made from it, which
// is no library's memory.
func take(l contender.Lock) error { return l.Lock(context.Background()) }

// each does something to all locks, many at a time, until there is an error.
func each(locks []contender.Lock, do func(contender.Lock) error) error {
	all, ctx := errgroup.WithContext(context.Background())
	all.SetLimit(takers)
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
