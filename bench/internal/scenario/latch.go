package scenario

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
	"github.com/holdfast-go/holdfast/latch"
)

// latches is the time from the last CountDown in one process to the end of a Wait in another. A waiter that looks after
// a message cannot be quicker than a lock that is handed over so, which is the floor.
func latches() []Scenario {
	return []Scenario{{
		ID: "latch", Title: "Latch: from the last CountDown in one process to the end of Wait in another",
		Contenders: []string{contender.Ours, contender.Relay},
		Columns:    []Column{{handoverP50, "p50 µs"}, {handoverP99, "p99 µs"}, {measure.Sends, "sends"}},
		Goals: []Goal{
			{Figure: handoverP50, Of: contender.Ours, To: []string{contender.Relay}, AtMost: 1.5, Away: true},
		},
		Rounds: 3, Far: true,
		Open: func(lab *Lab) (Subject, error) {
			if lab.Contender == contender.Relay {
				return openHandover(lab)
			}
			return openLatch(lab)
		},
	}}
}

// counted is a latch as two processes have it.
type counted struct {
	lab     *Lab
	clients []contender.Client
	latches []*latch.Latch // who counts, who waits
}

func openLatch(lab *Lab) (Subject, error) {
	c := &counted{lab: lab}
	for range 2 {
		client, err := lab.Client(0)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		of := client.(named)
		c.clients = append(c.clients, client)
		c.latches = append(c.latches, contender.Latch(of.Client, of.own([]string{"import"})[0]))
	}
	return c, nil
}

func (c *counted) Close() error {
	var errs []error
	for _, client := range c.clients {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

func (c *counted) Measure(ctx context.Context) (measure.Figures, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	turns := c.lab.of(20)
	var took []time.Duration
	mark, err := c.lab.Gauge().Mark(ctx)
	if err != nil {
		return nil, err
	}
	for range turns {
		one, err := c.turn(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	usage, err := mark.Since(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	figures := usage.Per(turns)
	figures[handoverP50] = micros(stats.Percentile(took, 0.5))
	figures[handoverP99] = micros(stats.Percentile(took, 0.99))
	return figures, nil
}

func (c *counted) turn(ctx context.Context) (time.Duration, error) {
	if err := c.latches[0].Set(ctx, 1); err != nil {
		return 0, err
	}
	open := make(chan arrival, 1)
	go func() {
		err := c.latches[1].Wait(ctx)
		open <- arrival{time.Now(), err}
	}()
	time.Sleep(c.lab.settling())
	start := time.Now()
	err := c.latches[0].CountDown(ctx)
	last := <-open
	return last.at.Sub(start), errors.Join(err, last.err)
}
