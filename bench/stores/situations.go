package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// The names of figures that others do not have.
const (
	statements = "statements"         // that the server carried out, those that begin and end transactions included
	working    = "working_statements" // the same without those
	logBytes   = "log_bytes"          // of the write-ahead log
	planning   = "planning_us"
	running    = "running_us"

	clientTurnRatio = "turns_of_clients_most_by_fewest"
)

var nowhere time.Duration // the distance of what is measured on loopback alone

func situations(scale scenario.Scale) []situation {
	pair := []scenario.Column{
		{Figure: measure.Rate, Head: "pairs/s"}, {Figure: measure.P50, Head: "lock p50 µs"},
		{Figure: measure.P99, Head: "lock p99 µs"}, {Figure: measure.Sends, Head: "sends"},
		{Figure: statements, Head: "statements"}, {Figure: planning, Head: "planning µs"},
		{Figure: running, Head: "running µs"}, {Figure: logBytes, Head: "log bytes"},
		{Figure: measure.ClientCPU, Head: "client µs"},
	}
	hot := []scenario.Column{
		{Figure: measure.Rate, Head: "turns/s"}, {Figure: measure.P50, Head: "wait p50 µs"},
		{Figure: measure.P99, Head: "wait p99 µs"}, {Figure: measure.TurnRatio, Head: "most/fewest turns"},
		{Figure: clientTurnRatio, Head: "most/fewest by client"},
		{Figure: measure.Absence, Head: "a client's longest wait µs"},
		{Figure: statements, Head: "statements"}, {Figure: logBytes, Head: "log bytes"},
	}
	all := []string{ours, peer, advisory}
	times := func(factor float64) []scenario.Goal {
		return []scenario.Goal{{Figure: measure.Rate, Of: ours, To: []string{peer}, AtLeast: factor}}
	}
	of := func(id, title string, columns []scenario.Column, goals []scenario.Goal, l load) situation {
		contenders := all
		switch {
		case l.fresh: // each would be another connection
			contenders = []string{ours, peer}
		case l.clients == 1 && l.goroutines > 1 && l.name == "":
			contenders = []string{ours, wide, peer, advisory}
		}
		return situation{
			scenario.Scenario{ID: id, Title: title, Contenders: contenders, Columns: columns, Goals: goals},
			func(ctx context.Context, lab *lab) (scenario.Subject, error) { return openLoad(ctx, lab, l) },
		}
	}
	return append([]situation{
		of("free", "1 goroutine, a free lock: Lock and unlock", pair, times(1.5), load{clients: 1, goroutines: 1}),
		of("new", "1 goroutine, a name that nobody had before each time", pair, nil,
			load{clients: 1, goroutines: 1, fresh: true}),
		of("own64", "64 goroutines, a name each", pair, nil, load{clients: 1, goroutines: 64}),
		of("hot1x8", "8 goroutines of one process, one name", hot, times(50),
			load{clients: 1, goroutines: 8, name: "hot"}),
		of("hot1x64", "64 goroutines of one process, one name", hot, times(50),
			load{clients: 1, goroutines: 64, name: "hot"}),
		of("hot8x1", "8 goroutines of 8 clients, one name", hot, nil, load{clients: 8, goroutines: 8, name: "hot"}),
		of("hot8x8", "64 goroutines of 8 clients, one name", hot, nil, load{clients: 8, goroutines: 64, name: "hot"}),
	}, append(handovers(scale), append(held(), minute()...)...)...)
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
