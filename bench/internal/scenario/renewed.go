package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const (
	lost = "lost"

	// farWorkers take and free what is far away: by fewer it takes longer than it is held.
	farWorkers = 512

	longLease = 30 * time.Second // the default
)

var renewedAt = 20 * time.Millisecond

// renewed is many locks that are kept alive over a distance: none of them may be lost. 100,000 are too many for the
// peer, which has a goroutine for each.
func renewed() []Scenario {
	both := []string{contender.Ours, contender.Rueidis}
	columns := []Column{
		{measure.OwnLoad, "client core %"}, {lost, "lost"}, {heldScripts, "scripts/s"},
		{heldCommands, "redis calls/s"}, {measure.RedisLoad, "redis core %"},
	}
	goals := []Goal{
		{Figure: lost, Of: contender.Ours, AtMost: 0},
		{Figure: measure.OwnLoad, Of: contender.Ours, AtMost: 3},
	}
	return []Scenario{{
		ID: "renewed10000", Title: fmt.Sprintf("10,000 locks held over 20 ms, lease %v", heldLease),
		Contenders: both, Rounds: 1, At: &renewedAt, Columns: columns, Goals: goals,
		Open: func(lab *Lab) (Subject, error) { return &renewing{lab, 10_000, heldLease}, nil },
	}, {
		ID: "renewed100000", Title: fmt.Sprintf("100,000 locks held over 20 ms, lease %v", longLease), Far: true,
		Contenders: both[:1], Rounds: 1, At: &renewedAt, Columns: columns, Goals: goals,
		Open: func(lab *Lab) (Subject, error) { return &renewing{lab, 100_000, longLease}, nil },
	}}
}

// renewing opens a client for every round, as holding does.
type renewing struct {
	lab   *Lab
	locks int
	lease time.Duration
}

func (r *renewing) Close() error { return nil }

func (r *renewing) Measure(ctx context.Context) (figures measure.Figures, err error) {
	n, hold := r.lab.of(r.locks), r.lease+r.lease/6
	if r.lab.Quick {
		hold = r.lab.Slice
	}
	client, err := r.lab.Client(r.lease)
	if err != nil {
		return nil, err
	}
	closed := sync.OnceValue(client.Close)
	defer func() { err = errors.Join(err, closed()) }()
	guard := time.AfterFunc(hold+patience, func() { _ = closed() })
	defer guard.Stop()
	of := client.(named)
	locks := make([]*contender.Watched, n)
	for i := range locks {
		locks[i] = contender.Watch(of.Client, of.own([]string{fmt.Sprintf("held:%d", i)})[0])
	}
	take := func(l *contender.Watched) error { return l.Lock(context.Background()) }
	if err := each(locks, farWorkers, take); err != nil {
		return nil, err
	}
	figures = measure.Figures{lost: 0}
	if err := watch(ctx, r.lab, hold, figures); err != nil {
		return nil, err
	}
	for _, l := range locks {
		if l.Lost() {
			figures[lost]++
		}
	}
	err = each(locks, farWorkers, (*contender.Watched).Unlock)
	if figures[lost] > 0 {
		err = nil // it says the same
	}
	return figures, err
}
