package scenario

import (
	"context"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const levels = 3

// nested is a lock that is entered again by its own holder. No peer can do that.
func nested() []Scenario {
	return []Scenario{{
		ID: "nested", Title: "Nested Lock, three deep, and back",
		Contenders: []string{contender.Ours},
		Columns: []Column{
			{measure.Rate, "times/s"}, {measure.P50, "in p50 µs"}, {measure.PairP50, "in and out p50 µs"},
			{measure.Sends, "sends"}, {measure.Commands, "redis calls"}, {measure.Allocs, "allocs"},
		},
		Far: true, Rounds: 3,
		Goals: []Goal{
			// The first in, and the last out. A count that follows behind is one more where there is time for it.
			{Figure: measure.Sends, Of: contender.Ours, AtMost: 2.1},
		},
		Open: func(lab *Lab) (Subject, error) {
			client, err := lab.Client(0)
			if err != nil {
				return nil, err
			}
			nest := contender.Nest(client.(named).Client, lab.Contender+":nested", levels)
			return &single{lab: lab, client: client, lock: deep{nest}}, nil
		},
	}}
}

// deep goes all levels in, and all of them back.
type deep struct{ nested *contender.Nested }

func (d deep) Lock(ctx context.Context) error {
	for range levels {
		if err := d.nested.Lock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d deep) Unlock() error {
	for range levels {
		if err := d.nested.Unlock(); err != nil {
			return err
		}
	}
	return nil
}
