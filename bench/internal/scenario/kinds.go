package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const readRate = "reads_per_s"

// readers are goroutines of one process that read under one name, and a writer of another process beside them.
func readers() []Scenario {
	var scenarios []Scenario
	factor := map[int]float64{1: 1, 64: 50}
	for _, n := range []int{1, 64} {
		scenarios = append(scenarios, Scenario{
			ID: fmt.Sprintf("read%d", n), Title: fmt.Sprintf("Read lock, %d reader(s) of one process", n),
			Contenders: []string{contender.OursRead}, Columns: pairColumns, Rounds: 2, Far: true,
			Goals: []Goal{
				{Figure: measure.Rate, Of: contender.OursRead, To: []string{contender.Redisson}, AtLeast: factor[n]},
			},
			Open: func(lab *Lab) (Subject, error) { return openLoad(lab, 1, n, "page") },
			Java: func(lab *Lab) (Subject, error) { return openJava(lab, 1, n, "read", "page") },
		})
	}
	for _, n := range []int{1, 64} {
		scenarios = append(scenarios, Scenario{
			ID:         fmt.Sprintf("write%d", n),
			Title:      fmt.Sprintf("Write lock, one writer beside %d reader(s) of another process", n),
			Contenders: []string{contender.OursRead}, Rounds: 3, Far: true,
			Columns: []Column{
				{measure.P50, "writer's wait p50 µs"}, {measure.P99, "writer's wait p99 µs"},
				{measure.Rate, "writes/s"}, {readRate, "reads/s"},
			},
			// A writer's gate lets no reader in that comes after it.
			Goals: []Goal{{Figure: measure.P99, Of: contender.OursRead, AtMost: 250_000}},
			Open:  func(lab *Lab) (Subject, error) { return openWriter(lab, n) },
		})
	}
	return scenarios
}

// writer is one beside readers.
type writer struct {
	*load  // the readers
	writes contender.Lock
	client contender.Client
}

func openWriter(lab *Lab, n int) (Subject, error) {
	readers, err := openLoad(lab, 1, n, "page")
	if err != nil {
		return nil, err
	}
	client, err := lab.Client(0)
	if err != nil {
		return nil, errors.Join(err, readers.Close())
	}
	of := client.(named)
	return &writer{readers.(*load), contender.Writer(of.Client, of.own([]string{"page"})[0]), client}, nil
}

func (w *writer) Close() error { return errors.Join(w.load.Close(), w.client.Close()) }

// Measure has both go on for the same time.
func (w *writer) Measure(ctx context.Context) (measure.Figures, error) {
	type result struct {
		figures measure.Figures
		err     error
	}
	reads := make(chan result, 1)
	go func() {
		figures, err := w.load.Measure(ctx)
		reads <- result{figures, err}
	}()
	work := measure.Load{Locks: []contender.Lock{w.writes}, For: w.lab.Slice, Trip: w.lab.Distance}
	outcome, err := work.Run(ctx)
	others := <-reads
	if err := errors.Join(err, others.err); err != nil {
		return nil, err
	}
	figures := outcome.Figures()
	figures[readRate] = others.figures[measure.Rate]
	return figures, nil
}

// permits are goroutines of one process that take permits of one semaphore: of more than they are, and of fewer.
func permits() []Scenario {
	var scenarios []Scenario
	for _, n := range []int{1000, 4} {
		scenarios = append(scenarios, Scenario{
			ID: fmt.Sprintf("permits%d", n), Title: fmt.Sprintf("Semaphore, 64 goroutines, a permit of %d each", n),
			Contenders: []string{contender.OursPermit}, Columns: pairColumns, Rounds: 2, Far: true,
			Goals: []Goal{
				{Figure: measure.Rate, Of: contender.OursPermit, To: []string{contender.Redisson}, AtLeast: 3},
			},
			Open: func(lab *Lab) (Subject, error) {
				subject, err := openLoad(lab, 1, 64, "printers")
				if err != nil {
					return nil, err
				}
				of := subject.(*load)
				return &limited{subject, func(ctx context.Context) error {
					return contender.SetPermits(ctx, of.locks[0], int64(n))
				}}, nil
			},
			Java: func(lab *Lab) (Subject, error) {
				j, err := newJVM(lab, 1, 64, "permit", "printers")
				if err != nil {
					return nil, err
				}
				return &limited{j, func(ctx context.Context) error {
					_, err := j.process.Do(ctx, "setup", "permits", j.load.Name, fmt.Sprint(n))
					return err
				}}, nil
			},
		})
	}
	return scenarios
}

// limited has a capacity, which every round has to say anew.
type limited struct {
	Subject
	set func(ctx context.Context) error
}

func (l *limited) Measure(ctx context.Context) (measure.Figures, error) {
	if err := l.set(ctx); err != nil {
		return nil, err
	}
	return l.Subject.Measure(ctx)
}

// busy is a lock that another process holds, and that nobody waits for.
func busy() []Scenario {
	return []Scenario{{
		ID: "busy", Title: "1 goroutine, TryLock of what another process holds",
		Contenders: append([]string{contender.Ours}, peers...), Columns: pairColumns, Rounds: 2, Far: true,
		Goals: []Goal{{Figure: measure.Rate, Of: contender.Ours, To: peers, AtLeast: 1}},
		Open: func(lab *Lab) (Subject, error) {
			subject, err := openLoad(lab, 2, 2, "busy")
			if err != nil {
				return nil, err
			}
			l := subject.(*load)
			holder := l.locks[0]
			l.locks = []contender.Lock{refused{l.locks[1].(contender.Trier)}}
			return &beside{l, holder}, nil
		},
	}}
}

// beside is a load beside somebody who holds what it asks for.
type beside struct {
	*load
	holder contender.Lock
}

func (b *beside) Measure(ctx context.Context) (figures measure.Figures, err error) {
	if err := b.holder.Lock(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.holder.Unlock()) }()
	return b.load.Measure(ctx)
}
