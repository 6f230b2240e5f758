package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

const (
	handoverP50 = "handover_p50_us"
	handoverP99 = "handover_p99_us"

	// A contender is measured for as many turns in a round as it takes about this long to wait for, within bounds.
	handoverTime                   = 9 * time.Second
	fewestHandovers, mostHandovers = 3, 20
)

// handovers are the time from the release by one client to the acquisition by another one that waits: where it is told
// of the release, and where it polls.
func handovers() []situation {
	columns := []scenario.Column{
		{Figure: handoverP50, Head: "p50 µs"}, {Figure: handoverP99, Head: "p99 µs"},
		{Figure: measure.Sends, Head: "sends"}, {Figure: calls, Head: "calls"}, {Figure: logBytes, Head: "log bytes"},
	}
	return []situation{{
		id: "handover", title: "From unlock by one client to Lock by another, which waits", columns: columns, rounds: 3,
		open: openHandover,
	}, {
		id: "handover-poll", title: fmt.Sprintf("The same behind a pooler in transaction mode, which delivers no "+
			"messages; a poll every %v", poll), columns: columns, rounds: 1, special: true, open: openHandover,
	}}
}

type handover struct {
	lab    *lab
	turns  int
	within time.Duration // after a random part of it a release comes: the time between two questions of a waiter
	opened []contender.Client
	locks  []contender.Lock
}

func openHandover(ctx context.Context, lab *lab) (scenario.Subject, error) {
	h := &handover{lab: lab, within: max(lab.polls[lab.contender], 50*time.Millisecond)}
	h.turns = min(max(int(handoverTime/h.within), fewestHandovers), mostHandovers)
	if lab.Quick {
		h.turns, h.within = 2, 50*time.Millisecond
	}
	process, err := lab.inJava(2)
	if err != nil {
		return nil, err
	}
	if process != nil {
		return &javaHandover{h, process}, nil
	}
	for range 2 {
		c, err := lab.client(ctx, 0)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.opened, h.locks = append(h.opened, c), append(h.locks, c.Lock("baton"))
	}
	return h, nil
}

// Measure passes the lock to and fro.
func (h *handover) Measure(ctx context.Context) (measure.Figures, error) {
	took := make([]time.Duration, 0, h.turns)
	mark, err := h.lab.mark(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.locks[0].Lock(ctx); err != nil {
		return nil, err
	}
	for turn := range h.turns {
		one, err := h.pass(ctx, h.locks[turn%2], h.locks[(turn+1)%2])
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	if err := h.locks[h.turns%2].Unlock(); err != nil {
		return nil, err
	}
	figures, err := mark.per(ctx, h.turns)
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	maps.Copy(figures, handoverFigures(took))
	return figures, nil
}

func handoverFigures(sorted []time.Duration) measure.Figures {
	return measure.Figures{
		handoverP50: micros(stats.Percentile(sorted, 0.5)), handoverP99: micros(stats.Percentile(sorted, 0.99)),
	}
}

func (h *handover) pass(ctx context.Context, from, to contender.Lock) (time.Duration, error) {
	type arrival struct {
		at  time.Time
		err error
	}
	got := make(chan arrival, 1)
	go func() {
		err := to.Lock(ctx)
		got <- arrival{time.Now(), err}
	}()
	time.Sleep(h.lab.settling + 20*h.lab.distance + rand.N(h.within))
	start := time.Now()
	if err := from.Unlock(); err != nil {
		return 0, err
	}
	next := <-got
	return next.at.Sub(start), next.err
}

// Close closes the clients.
func (h *handover) Close() error {
	var errs []error
	for _, c := range h.opened {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
