package scenario

import (
	"context"
	"maps"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// several is three names at once, on one server.
func several() []Scenario {
	return []Scenario{{
		ID: "multi3", Title: "Three free names at once, by one goroutine",
		Contenders: []string{contender.OursMulti, contender.Bsm, contender.Scripts},
		Columns:    pairColumns, Rounds: manyRounds, Far: true,
		Goals: []Goal{
			{Figure: measure.Rate, Of: contender.OursMulti, To: []string{contender.Bsm}, AtLeast: 0.9, Away: true},
		},
		Open: func(lab *Lab) (Subject, error) {
			client, err := lab.Client(0)
			if err != nil {
				return nil, err
			}
			return &single{lab: lab, client: client, lock: lab.byID(client, "a", "b", "c")}, nil
		},
	}}
}

// single is one goroutine with one handle.
type single struct {
	lab    *Lab
	client contender.Client
	lock   contender.Lock
	warm   bool
}

func (s *single) Close() error { return s.client.Close() }

func (s *single) Measure(ctx context.Context) (measure.Figures, error) {
	work := measure.Load{Locks: []contender.Lock{s.lock}, For: s.lab.Slice, Trip: s.lab.Distance}
	if !s.warm {
		if err := work.Warm(ctx); err != nil {
			return nil, err
		}
		s.warm = true
	}
	return costOf(ctx, s.lab, work)
}

// costOf runs a load and adds what it has used.
func costOf(ctx context.Context, lab *Lab, work measure.Load) (measure.Figures, error) {
	mark, err := lab.Gauge().Mark(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := work.Run(ctx)
	if err != nil {
		return nil, err
	}
	usage, err := mark.Since(ctx)
	if err != nil {
		return nil, err
	}
	figures := outcome.Figures()
	maps.Copy(figures, usage.Per(outcome.Pairs))
	figures[clientTurnRatio] = outcome.By(max(lab.clients, 1))
	return figures, nil
}
