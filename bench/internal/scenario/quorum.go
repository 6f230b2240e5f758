package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const (
	nodes     = 5
	frozenP50 = "frozen_p50_us"
	frozenP99 = "frozen_p99_us"
	byHealthy = "frozen_p99_by_healthy_p99"
	frozenOut = "frozen_failures"
)

// quorum is one lock over five independent servers, all well, and with one that has stopped: it takes
// connections and requests, and answers nothing.
func quorum() []Scenario {
	ours := contender.OursRed
	one := Scenario{
		ID: "redlock5", Title: "Redlock over 5 nodes, healthy and with one that is frozen",
		Contenders: []string{ours, contender.Redsync, contender.RedsyncFailFast},
		Servers:    nodes,
		Columns: []Column{
			{measure.PairP50, "pair p50 µs"}, {measure.PairP99, "pair p99 µs"}, {measure.Sends, "sends"},
			{frozenP50, "frozen p50 µs"}, {frozenP99, "frozen p99 µs"}, {byHealthy, "frozen/healthy p99"},
			{frozenOut, "frozen failures"},
		},
		Rounds: 2, Far: true,
		Goals: []Goal{
			// Tokens need a second round, which redsync has no use for.
			{Figure: measure.PairP50, Of: ours, To: []string{contender.RedsyncFailFast}, AtMost: 1.3},
			{Figure: byHealthy, Of: ours, AtMost: 1.5},
		},
		Open: func(lab *Lab) (Subject, error) {
			client, err := lab.Client(0)
			if err != nil {
				return nil, err
			}
			return &council{single{lab: lab, client: client, lock: client.Lock("council")}, 1}, nil
		},
	}
	two := one
	two.ID, two.Title = "redlock5-2", "Redlock over 5 nodes, healthy and with two that are frozen"
	two.Contenders = []string{ours, contender.RedsyncFailFast} // redsync takes as long as with one
	two.Open = func(lab *Lab) (Subject, error) {
		subject, err := one.Open(lab)
		if err == nil {
			subject.(*council).frozen = 2
		}
		return subject, err
	}
	return []Scenario{one, two}
}

// council is a single handle whose servers are not all well for a part of the time.
type council struct {
	single
	frozen int // servers, for that part
}

func (c *council) Measure(ctx context.Context) (measure.Figures, error) {
	figures, err := c.single.Measure(ctx)
	if err != nil {
		return nil, err
	}
	frozen := c.lab.Servers[nodes-c.frozen:]
	for _, server := range frozen {
		if err := server.Freeze(); err != nil {
			return nil, err
		}
	}
	defer func() {
		for _, server := range frozen {
			err = errors.Join(err, server.Thaw())
		}
		time.Sleep(c.lab.Scale.Slice / 10) // what lies in its buffers is dealt with
	}()
	outcome, err := measure.Load{Locks: []contender.Lock{c.lock}, For: c.lab.Scale.Slice}.Run(ctx)
	figures[frozenOut] = float64(outcome.Failures)
	if len(outcome.Both) == 0 {
		return figures, nil // nobody got anything in that time; the failures tell it
	}
	others := outcome.Figures()
	figures[frozenP50], figures[frozenP99] = others[measure.PairP50], others[measure.PairP99]
	figures[byHealthy] = others[measure.PairP99] / figures[measure.PairP99]
	return figures, err
}
