package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// javaWarmth is how long a load is run in a JVM before it is measured, so that what is called often is compiled.
const javaWarmth = 4 * time.Second

// javaServer is one on which a library in Java is measured, whose contender has no client in this process.
type javaServer interface {
	// library is the program of a contender; nil: it is in Go.
	library(contender string) *javalib.Program
}

// inJava starts a JVM with so many clients of the contender, if it is in Java.
func (l *lab) inJava(clients int) (*javalib.Process, error) {
	on, ok := l.server.(javaServer)
	if !ok {
		return nil, nil
	}
	program := on.library(l.contender)
	if program == nil {
		return nil, nil
	}
	return program.Start(l.target(0).Addrs[0], clients)
}

// javaLoad is a load in a JVM.
type javaLoad struct {
	lab     *lab
	process *javalib.Process
	clients int
	load    javalib.Load
	warm    bool
}

func (l *lab) javaLoad(process *javalib.Process, of load) scenario.Subject {
	return &javaLoad{lab: l, process: process, clients: of.clients, load: javalib.Load{
		Kind: "lock", Name: l.prefix + of.name, Own: of.name == "", Threads: of.goroutines / of.clients, For: l.Slice,
	}}
}

func (j *javaLoad) Close() error { return j.process.Close() }

func (j *javaLoad) Measure(ctx context.Context) (measure.Figures, error) {
	if !j.warm && !j.lab.Quick {
		j.warm = true
		long := j.load
		long.For = javaWarmth
		if _, err := long.Run(ctx, j.process); err != nil {
			return nil, err
		}
	}
	mark, err := j.lab.mark(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := j.load.Run(ctx, j.process)
	if err != nil {
		return nil, err
	}
	figures, err := mark.inJava(ctx, outcome.Pairs)
	if err != nil {
		return nil, err
	}
	maps.Copy(figures, outcome.Figures())
	figures[measure.ClientCPU] = micros(outcome.CPU) / float64(outcome.Pairs)
	figures[clientTurnRatio] = outcome.By(j.clients)
	return figures, nil
}

// inJava is per for what another process did.
func (m *mark) inJava(ctx context.Context, ops int) (measure.Figures, error) {
	figures, err := m.per(ctx, ops)
	for _, own := range measure.OfThisProcess {
		delete(figures, own)
	}
	return figures, err
}

// javaHandover is a handover between two clients in one JVM.
type javaHandover struct {
	of      *handover
	process *javalib.Process
}

func (j *javaHandover) Close() error { return j.process.Close() }

func (j *javaHandover) Measure(ctx context.Context) (measure.Figures, error) {
	lab := j.of.lab
	mark, err := lab.mark(ctx)
	if err != nil {
		return nil, err
	}
	took, err := j.process.Pass(ctx, "lock", lab.prefix+"baton", j.of.turns, lab.settling+20*lab.distance, j.of.within)
	if err != nil {
		return nil, err
	}
	figures, err := mark.inJava(ctx, j.of.turns)
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	maps.Copy(figures, handoverFigures(took))
	return figures, nil
}
