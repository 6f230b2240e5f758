package scenario

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// javaWarmth is how long a load is run in a JVM before it is measured, so that what is called often is compiled.
const javaWarmth = 4 * time.Second

// withJava adds Redisson to the peers that a goal is about. Where it is not measured it is passed over.
func withJava(names []string) []string { return slices.Concat(names, []string{contender.Redisson}) }

// jvm is a load of Redisson's.
type jvm struct {
	lab     *Lab
	process *javalib.Process
	clients int
	load    javalib.Load
	warm    bool
}

// openJava is newJVM for a scenario.
func openJava(lab *Lab, clients, threads int, kind, name string) (Subject, error) {
	j, err := newJVM(lab, clients, threads, kind, name)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// newJVM starts a JVM with so many clients and as many threads as goroutines for openLoad: all on one name, or, if
// that is empty, on a name each.
func newJVM(lab *Lab, clients, threads int, kind, name string) (*jvm, error) {
	process, err := lab.Java.Start(lab.addrs()[0], clients)
	if err != nil {
		return nil, err
	}
	j := &jvm{lab: lab, process: process, clients: clients, load: javalib.Load{
		Kind: kind, Name: lab.Contender + ":" + name, Own: name == "",
		Threads: max(lab.crowd(threads, clients)/clients, 1), For: lab.Slice,
	}}
	return j, nil
}

func (j *jvm) Close() error { return j.process.Close() }

func (j *jvm) Measure(ctx context.Context) (measure.Figures, error) {
	if err := j.warmUp(ctx); err != nil {
		return nil, err
	}
	mark, err := j.lab.Gauge().Mark(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := j.load.Run(ctx, j.process)
	if err != nil {
		return nil, err
	}
	usage, err := mark.Since(ctx)
	if err != nil {
		return nil, err
	}
	figures, per := outcome.Figures(), usage.Per(outcome.Pairs)
	for _, own := range measure.OfThisProcess {
		delete(per, own)
	}
	maps.Copy(figures, per)
	figures[measure.ClientCPU] = micros(outcome.CPU) / float64(outcome.Pairs)
	figures[clientTurnRatio] = outcome.By(j.clients)
	return figures, nil
}

func (j *jvm) warmUp(ctx context.Context) error {
	if j.warm || j.lab.Quick {
		return nil
	}
	j.warm = true
	load := j.load
	load.For = javaWarmth
	_, err := load.Run(ctx, j.process)
	return err
}
