// Command safety drives the locks of this module and those of other libraries through the same faults, and prints for
// each how often two holders were inside at the same time whom their library had told of no loss, for how long, and
// what the holders were told.
//
//	cd bench && go run ./safety                            # everything, within half an hour
//	cd bench && go run ./safety -seed 7 -out results       # the same with another seed, into results/safety.txt
//	cd bench && go run ./safety -only redsync -fault stop  # some cells: parts of names
//
// It starts its own servers, with the test kit: one for each cell, which is a library under one kind of fault. Three
// processes take one lock in turn, each by a path of its own, through which faults come. The judge is none of the
// libraries: each process writes down when it was inside, by a clock that they share.
package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// settings are those of the command line.
type settings struct {
	seed        uint64
	only, fault string
	out, page   string
	lanes       int
	quick       bool
}

const usualLanes = 12

func main() {
	role.Play()
	s := settings{}
	flag.Uint64Var(&s.seed, "seed", 1, "decides whom faults meet, and when")
	flag.StringVar(&s.only, "only", "", "part of the names of the libraries to run; empty: all")
	flag.StringVar(&s.fault, "fault", "", "part of the names of the faults; empty: all")
	flag.StringVar(&s.out, "out", "", "folder for safety.txt and safety.md; empty: only to the terminal")
	flag.StringVar(&s.page, "page", "", "page that shows safety.md between two marks, to be brought up to date")
	flag.IntVar(&s.lanes, "lanes", usualLanes, "how many cells run at a time")
	flag.BoolVar(&s.quick, "quick", false, "one fault in each cell")
	flag.Parse()
	if err := run(s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "safety:", err)
		os.Exit(1)
	}
}

func run(s settings, out io.Writer) error {
	start := time.Now()
	a := full
	if s.quick {
		a = brief
	}
	defer func() { _ = closeJava() }()
	results := runCells(s.cells(), a, s.seed, s.lanes, os.Stderr)
	if len(results) == 0 {
		return fmt.Errorf("no cell has %q and %q in its names", s.only, s.fault)
	}
	if err := report(s, results, time.Since(start), out); err != nil {
		return err
	}
	for _, r := range results {
		if r.err != nil {
			return fmt.Errorf("%s, %s: %w", r.entry.name, r.fault.name, r.err)
		}
	}
	return nil
}

// pair is what a cell is made of.
type pair struct {
	entry entry
	fault fault
}

// seed is that of the cell in a run with a seed, whatever other cells that has.
func (p pair) seed(of uint64) uint64 {
	sum := fnv.New64()
	_, _ = sum.Write([]byte(p.entry.name + "," + p.fault.name)) // it never fails
	return of + sum.Sum64()
}

// cells are those that are asked for, in the order of the table.
func (s settings) cells() (all []pair) {
	for _, e := range entries {
		for _, f := range faults {
			here := f.stores == nil || slices.Contains(f.stores, e.store)
			if here && strings.Contains(e.name, s.only) && strings.Contains(f.name, s.fault) {
				all = append(all, pair{e, f})
			}
		}
	}
	return all
}

// runCells runs cells, some at a time, those with the longest leases first, and returns their results in order.
func runCells(cells []pair, a amount, seed uint64, lanes int, progress io.Writer) []result {
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(cells[b].entry.lease - cells[a].entry.lease) })
	results, next := make([]result, len(cells)), make(chan int)
	var running sync.WaitGroup
	var mu sync.Mutex // guards progress
	for range lanes {
		running.Go(func() {
			for i := range next {
				results[i] = runCell(cells[i], a, cells[i].seed(seed))
				mu.Lock()
				fmt.Fprintln(progress, results[i].line())
				mu.Unlock()
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	running.Wait()
	return results
}

// missing says what this machine lacks for the cell, or nothing.
func (p pair) missing() string {
	if p.entry.java != nil {
		if runtime.GOOS != "linux" {
			return p.entry.java.name + ": a JVM has no clock in common with other processes but on Linux"
		}
		if _, err := p.entry.java.get(); err != nil {
			return p.entry.java.name + ": " + err.Error()
		}
	}
	if p.fault.layout == clocked {
		return redistest.ClockMissing()
	}
	return ""
}

func runCell(p pair, a amount, seed uint64) (r result) {
	start := time.Now()
	r = result{entry: p.entry, fault: p.fault, seed: seed, err: fmt.Errorf("the harness failed")}
	if r.absent = p.missing(); r.absent != "" {
		r.err = nil
		return r
	}
	servers.Alone(func(t testing.TB) { r = newCell(t, p.entry, p.fault, a, seed).run() })
	r.took = time.Since(start)
	return r
}
