package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

var pairColumns = []Column{
	{measure.Rate, "pairs/s"}, {measure.P50, "lock p50 µs"}, {measure.P99, "lock p99 µs"},
	{measure.Allocs, "allocs"}, {measure.Sends, "sends"}, {measure.Commands, "redis calls"},
	{measure.RedisCPU, "redis µs"}, {measure.ClientCPU, "client µs"},
}

// manyRounds are for what is so near to one another that the machine's moods decide in few.
const manyRounds = 4

// fewPasses are how many turns each of many goroutines has in a round at least, over whatever distance.
const fewPasses = 2

var peers = []string{contender.Bsm, contender.Redsync, contender.Rueidis}

// throughput is locks that nobody else wants, by one goroutine and by many.
func throughput() []Scenario {
	floors := []string{contender.Scripts, contender.SetNX}
	all := append([]string{contender.Ours}, append(append([]string{}, peers...), floors...)...)
	free := Scenario{
		ID: "free", Title: "1 goroutine, a free lock: Lock and unlock",
		Contenders: slices.Insert(slices.Clone(all), 1, contender.OursKept), Columns: pairColumns,
		Rounds: manyRounds, Far: true,
		Open: func(lab *Lab) (Subject, error) { return openLoad(lab, 1, 1, "") },
		Java: func(lab *Lab) (Subject, error) { return openJava(lab, 1, 1, "lock", "") },
		Goals: []Goal{
			{Figure: measure.Rate, Of: contender.Ours, To: []string{contender.Bsm}, AtLeast: 0.9, Away: true},
		},
	}
	scenarios := []Scenario{free}
	factor := map[int]float64{64: 1, 512: 1.2}
	for _, n := range []int{64, 512} {
		scenarios = append(scenarios, Scenario{
			ID: fmt.Sprintf("own%d", n), Title: fmt.Sprintf("%d goroutines, a name each", n),
			Contenders: append(append([]string{}, all...), contender.Pipelined), Columns: pairColumns,
			Rounds: manyRounds, Far: true,
			Open: func(lab *Lab) (Subject, error) { return openLoad(lab, 1, n, "") },
			Goals: []Goal{
				{Figure: measure.Rate, Of: contender.Ours, To: []string{contender.Rueidis}, AtLeast: factor[n]},
			},
		})
	}
	return scenarios
}

// load is goroutines over clients that lock and unlock.
type load struct {
	lab     *Lab
	clients []contender.Client
	locks   []contender.Lock
	section time.Duration // of each turn
	own     bool          // each has a name of its own
	warm    bool
}

// openLoad opens clients and makes a handle for every goroutine, the goroutines of a client one after
// the other: all on one name, which is a singleton, or, if that is empty, on a name each, by id.
func openLoad(lab *Lab, clients, goroutines int, name string) (Subject, error) {
	l := &load{lab: lab, own: name == ""}
	goroutines = lab.crowd(goroutines, clients)
	for range clients {
		c, err := lab.Client(0)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.clients = append(l.clients, c)
	}
	for i := range goroutines {
		client := l.clients[i*clients/goroutines]
		if name == "" {
			l.locks = append(l.locks, lab.byID(client, fmt.Sprintf("order:%d", i)))
		} else {
			l.locks = append(l.locks, client.Lock(name))
		}
	}
	return l, nil
}

func (l *load) Measure(ctx context.Context) (measure.Figures, error) {
	work := measure.Load{Locks: l.locks, For: l.lab.Scale.Slice, Section: l.section, Clients: len(l.clients),
		Trip: l.lab.Distance, Own: l.own}
	if l.own { // and nobody is in the way of anybody
		work.For = max(work.For, fewPasses*work.Pass())
	}
	if !l.warm {
		if err := work.Warm(ctx); err != nil {
			return nil, err
		}
		l.warm = true
	}
	figures, err := costOf(ctx, l.lab, work)
	if err == nil && l.section > 0 {
		figures[sectionShare] = figures[measure.Rate] * l.section.Seconds()
	}
	return figures, err
}

const clientTurnRatio = "turns_of_clients_most_by_fewest"

func (l *load) Close() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
