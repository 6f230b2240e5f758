package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

const (
	handoverP50 = "handover_p50_us"
	handoverP99 = "handover_p99_us"
)

// handover is the time from the release by one client to the acquisition by another one that waits. Its
// floor says how far the goals can be met at all: a client that asks Redis only after a message cannot be below
// it, and that is all of them.
func handover() []Scenario {
	all := append([]string{contender.Ours}, ready(contender.OursFair)...)
	rueidis := []string{contender.Rueidis}
	goals := []Goal{{Figure: handoverP50, Of: contender.Ours, To: rueidis, AtMost: 1.1, Away: true}}
	for _, fair := range ready(contender.OursFair) {
		goals = append(goals, Goal{Figure: handoverP50, Of: fair, To: rueidis, AtMost: 1.15, Away: true})
	}
	return []Scenario{{
		ID: "handover", Title: "From release in one process to acquisition in another",
		Contenders: append(append(all, peers...), contender.Relay, contender.Grant),
		Columns: []Column{
			{handoverP50, "p50 µs"}, {handoverP99, "p99 µs"},
			{measure.Sends, "sends"}, {measure.Commands, "redis calls"},
		},
		Goals:  goals,
		Rounds: 2, Far: true,
		Open: openHandover,
	}}
}

// ready are those of the named contenders that there are.
func ready(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !contender.Known(name) })
}

type relay struct {
	lab     *Lab
	turns   int
	settle  time.Duration
	clients [2]contender.Client
	locks   [2]contender.Lock
}

func openHandover(lab *Lab) (Subject, error) {
	r := &relay{lab: lab, turns: lab.of(40), settle: lab.settling()}
	if lab.Distance > time.Millisecond {
		r.turns = min(r.turns, 12) // they differ less there
	}
	for i := range r.clients {
		c, err := lab.Client(0)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.clients[i], r.locks[i] = c, c.Lock("baton")
	}
	return r, nil
}

const (
	// settling is how long the next one is given to get into its wait. The random part keeps those who
	// poll from always being met in the same phase.
	settling = 20 * time.Millisecond
	phase    = 20 * time.Millisecond
)

// settling is longer where a wait begins with round trips that take long: a connection, a subscription, a question.
func (l *Lab) settling() time.Duration { return settling + 6*l.Distance }

// Measure passes the lock to and fro.
func (r *relay) Measure(ctx context.Context) (measure.Figures, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Not a deadline: some shorten their leases to what is left of it.
	guard := time.AfterFunc(patience, func() { cancel(errNeverWoken) })
	defer guard.Stop()
	turns := r.turns
	took := make([]time.Duration, 0, turns)
	mark, err := r.lab.Gauge().Mark(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.locks[0].Lock(ctx); err != nil {
		return nil, err
	}
	for turn := range turns {
		from, to := r.locks[turn%2], r.locks[(turn+1)%2]
		got := make(chan arrival, 1)
		go func() {
			err := to.Lock(ctx)
			got <- arrival{time.Now(), err}
		}()
		time.Sleep(r.settle + rand.N(phase))
		start := time.Now()
		if err := from.Unlock(); err != nil {
			return nil, err
		}
		next := <-got
		if next.err != nil {
			return nil, errors.Join(next.err, context.Cause(ctx))
		}
		took = append(took, next.at.Sub(start))
	}
	if err := r.locks[turns%2].Unlock(); err != nil {
		return nil, err
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

var errNeverWoken = fmt.Errorf("the lock went to nobody for up to %v: a message was lost", patience)

type arrival struct {
	at  time.Time
	err error
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func (r *relay) Close() error {
	var errs []error
	for _, c := range r.clients {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
