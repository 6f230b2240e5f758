package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

const clientTurnRatio = "turns_of_clients_most_by_fewest"

var nowhere time.Duration // the distance of what is measured on loopback alone

func situations() []situation {
	pair := []scenario.Column{
		{Figure: measure.Rate, Head: "pairs/s"}, {Figure: measure.P50, Head: "lock p50 µs"},
		{Figure: measure.P99, Head: "lock p99 µs"}, {Figure: measure.Sends, Head: "sends"},
		{Figure: calls, Head: "calls"}, {Figure: logBytes, Head: "log bytes"},
		{Figure: measure.ClientCPU, Head: "client µs"},
	}
	hot := []scenario.Column{
		{Figure: measure.Rate, Head: "turns/s"}, {Figure: measure.P50, Head: "wait p50 µs"},
		{Figure: measure.P99, Head: "wait p99 µs"}, {Figure: measure.TurnRatio, Head: "most/fewest turns"},
		{Figure: clientTurnRatio, Head: "by client"}, {Figure: measure.Absence, Head: "a client's longest wait µs"},
		{Figure: calls, Head: "calls"}, {Figure: logBytes, Head: "log bytes"},
	}
	of := func(id, title string, columns []scenario.Column, rounds int, l load) situation {
		return situation{
			id: id, title: title, columns: columns, rounds: rounds,
			open: func(ctx context.Context, lab *lab) (scenario.Subject, error) { return openLoad(ctx, lab, l) },
		}
	}
	return slices.Concat([]situation{
		of("free", "1 goroutine, a free lock: Lock and unlock", pair, 5, load{clients: 1, goroutines: 1}),
		of("new", "1 goroutine, a name that nobody had before each time", pair, 3,
			load{clients: 1, goroutines: 1, fresh: true}),
		of("own64", "64 goroutines, a name each", pair, 3, load{clients: 1, goroutines: 64}),
		of("hot1x8", "8 goroutines of one process, one name", hot, 2, load{clients: 1, goroutines: 8, name: "hot"}),
		of("hot1x64", "64 goroutines of one process, one name", hot, 2, load{clients: 1, goroutines: 64, name: "hot"}),
		of("hot8x1", "8 goroutines of 8 clients, one name", hot, 2, load{clients: 8, goroutines: 8, name: "hot"}),
		of("hot8x8", "64 goroutines of 8 clients, one name", hot, 2, load{clients: 8, goroutines: 64, name: "hot"}),
	}, handovers(), held(), thousand(), passwords(), minute(), crashes())
}

// load is goroutines over clients that lock and unlock.
type load struct {
	clients, goroutines int
	name                string // of the lock that all want; "": each has one of its own
	fresh               bool   // and never the same

	lab    *lab
	opened []contender.Client
	locks  []contender.Lock
	warm   bool
}

func openLoad(ctx context.Context, lab *lab, l load) (scenario.Subject, error) {
	l.lab = lab
	process, err := lab.inJava(l.clients)
	if err != nil {
		return nil, err
	}
	if process != nil {
		return lab.javaLoad(process, l), nil
	}
	for range l.clients {
		c, err := lab.client(ctx, 0)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.opened = append(l.opened, c)
	}
	for i := range l.goroutines {
		client, name := l.opened[i*l.clients/l.goroutines], l.name
		switch {
		case l.fresh:
			l.locks = append(l.locks, &fresh{client: client})
			continue
		case name == "":
			name = fmt.Sprintf("order:%d", i)
		}
		l.locks = append(l.locks, client.Lock(name))
	}
	return &l, nil
}

func (l *load) Measure(ctx context.Context) (measure.Figures, error) {
	work := measure.Load{Locks: l.locks, For: l.lab.Slice, Clients: l.clients, Trip: l.lab.distance}
	if !l.warm {
		if err := work.Warm(ctx); err != nil {
			return nil, err
		}
		l.warm = true
	}
	mark, err := l.lab.mark(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := work.Run(ctx)
	if err != nil {
		return nil, err
	}
	figures, err := mark.per(ctx, outcome.Pairs)
	if err != nil {
		return nil, err
	}
	maps.Copy(figures, outcome.Figures())
	figures[clientTurnRatio] = outcome.By(l.clients)
	return figures, nil
}

func (l *load) Close() error {
	var errs []error
	for _, c := range l.opened {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// fresh takes a lock of another name each time.
type fresh struct {
	client contender.Client
	made   int
	lock   contender.Lock
}

func (f *fresh) Lock(ctx context.Context) error {
	f.made++
	f.lock = f.client.Lock(fmt.Sprintf("fresh:%d", f.made))
	return f.lock.Lock(ctx)
}

func (f *fresh) Unlock() error { return f.lock.Unlock() }
