package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// passing is locks that a goroutine uses once and leaves: for each turn it takes another name. With Keep(1ms) nobody
// waits for the release of one, which follows a millisecond later.
func passing() []Scenario {
	all := append([]string{contender.OursBrief, contender.Ours}, peers...)
	var scenarios []Scenario
	for _, n := range []int{1, 64} {
		for _, fresh := range []bool{true, false} {
			id, names := fmt.Sprintf("fresh%d", n), "a name each time that nobody has locked before"
			if !fresh {
				id, names = fmt.Sprintf("turn%d", n), fmt.Sprintf("each with %d names in turn", ring)
			}
			title := fmt.Sprintf("%d goroutines, %s", n, names)
			goal := Goal{Figure: measure.Rate, Of: contender.OursBrief, To: []string{contender.Ours}, AtLeast: 1}
			if n == 1 {
				title = "1 goroutine, " + names
				goal.To, goal.AtLeast, goal.From = peers, 1.7, 300*time.Microsecond
			}
			scenarios = append(scenarios, Scenario{
				ID: id, Title: title, Contenders: all, Columns: pairColumns,
				Rounds: 2, Far: true,
				Open:  func(lab *Lab) (Subject, error) { return openPassing(lab, n, fresh) },
				Goals: []Goal{goal},
			})
		}
	}
	return scenarios
}

// ring is how many names a goroutine takes in turn: at any distance, one is free again when its turn comes.
const ring = 512

// nameless is a handle that takes another name for each turn.
type nameless struct {
	client contender.Client
	worker int
	turns  int
	fresh  bool
	lock   contender.Lock
}

func (n *nameless) Lock(ctx context.Context) error {
	turn := n.turns
	if n.turns++; !n.fresh {
		turn %= ring
	}
	n.lock = n.client.Lock(fmt.Sprintf("task:%d:%d", n.worker, turn))
	return n.lock.Lock(ctx)
}

func (n *nameless) Unlock() error { return n.lock.Unlock() }

// openPassing has names that are not to be fresh locked once before.
func openPassing(lab *Lab, goroutines int, fresh bool) (Subject, error) {
	l := &load{lab: lab, own: true}
	client, err := lab.Client(0)
	if err != nil {
		return nil, err
	}
	l.clients = append(l.clients, client)
	for i := range lab.crowd(goroutines, 1) {
		one := &nameless{client: client, worker: i, fresh: fresh}
		l.locks = append(l.locks, one)
		for range ring {
			if fresh {
				break
			}
			if err := errors.Join(one.Lock(context.Background()), one.Unlock()); err != nil {
				return nil, errors.Join(err, l.Close())
			}
		}
	}
	return l, nil
}
