package scenario

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

const (
	javaRate    = "java_turns_per_s"
	javaP99     = "java_wait_p99_us"
	javaLongest = "java_wait_max_us"

	javaThreads = 4
	mixedSlices = 4 // that a round takes: what is waited for here can take seconds
)

// mixed is one Redisson client among eight others that want its name all the time: ours, or Redisson's own, which
// say how long it would wait if there were none of ours.
func mixed() []Scenario {
	ours := contender.Ours
	return []Scenario{{
		ID: "mixed8", Title: "A Redisson client of 4 threads among 8 clients of 8, one name",
		Contenders: []string{ours}, Rounds: 2, NeedsJava: true,
		Columns: []Column{
			{javaLongest, "Java's longest wait µs"}, {javaP99, "Java's wait p99 µs"}, {javaRate, "Java's turns/s"},
			{measure.Rate, "the others' turns/s"}, {measure.Absence, "a client's longest wait µs"},
		},
		Goals: []Goal{
			{Figure: javaLongest, Of: ours, AtMost: 3_000_000},
			{Figure: javaP99, Of: ours, AtMost: 1_000_000},
		},
		Open: func(lab *Lab) (Subject, error) {
			subject, err := openLoad(lab, 8, 64, "mixed")
			if err != nil {
				return nil, err
			}
			others := subject.(*load)
			others.lab.Slice *= mixedSlices
			return among(lab, others, others.Measure)
		},
		Java: func(lab *Lab) (Subject, error) {
			lab.Slice *= mixedSlices
			others, err := newJVM(lab, 8, 64, "lock", "mixed")
			if err != nil {
				return nil, err
			}
			return among(lab, others, func(ctx context.Context) (measure.Figures, error) {
				outcome, err := others.load.Run(ctx, others.process)
				if err != nil {
					return nil, err
				}
				return outcome.Figures(), nil
			}, others)
		},
	}}
}

// minority is a Redisson client, and the others.
type minority struct {
	one    *jvm
	others Subject
	run    func(context.Context) (measure.Figures, error) // the others
	jvms   []*jvm                                         // all there are
}

func among(
	lab *Lab, others Subject, run func(context.Context) (measure.Figures, error), jvms ...*jvm,
) (Subject, error) {
	one, err := newJVM(lab, 1, javaThreads, "lock", "mixed")
	if err != nil {
		return nil, errors.Join(err, others.Close())
	}
	return &minority{one, others, run, append(jvms, one)}, nil
}

func (m *minority) Close() error { return errors.Join(m.one.Close(), m.others.Close()) }

// Measure runs both. A JVM is warmed up while it is alone.
func (m *minority) Measure(ctx context.Context) (measure.Figures, error) {
	for _, j := range m.jvms {
		if err := j.warmUp(ctx); err != nil {
			return nil, err
		}
	}
	type result struct {
		outcome javalib.Outcome
		err     error
	}
	java := make(chan result, 1)
	go func() {
		outcome, err := m.one.load.Run(ctx, m.one.process)
		java <- result{outcome, err}
	}()
	figures, err := m.run(ctx)
	one := <-java
	if err := errors.Join(err, one.err); err != nil {
		return nil, err
	}
	of := one.outcome.Figures()
	figures[javaRate], figures[javaP99] = of[measure.Rate], of[measure.P99]
	figures[javaLongest] = micros(one.outcome.Longest)
	return figures, nil
}
