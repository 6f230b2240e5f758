// Command history runs client processes under random faults and prints what it found, as a small table.
// It exits with 1 if anything was wrong.
//
//	go run ./integration/history/cmd/history -acquisitions 100000 -faults 500 -seed 1
//	go run ./integration/history/cmd/history -acquisitions 2000 -faults 300 -lease 1200ms -forgets
//	go run ./integration/history/cmd/history -acquisitions 5000 -faults 50 -site cluster
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/integration/history"
)

func main() {
	history.Client()
	cfg := history.Config{Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
	}}
	flag.IntVar(&cfg.Acquisitions, "acquisitions", 100_000, "how many are made while faults are injected")
	flag.IntVar(&cfg.Faults, "faults", 500, "how many happen")
	flag.Uint64Var(&cfg.Seed, "seed", uint64(time.Now().UnixNano()), "decides the faults")
	flag.DurationVar(&cfg.Lease, "lease", 900*time.Millisecond, "of every hold")
	flag.DurationVar(&cfg.Limit, "limit", 15*time.Minute, "for the acquisitions and faults")
	flag.Func("site", "single, cluster or sentinel (single)", func(site string) error {
		cfg.Site = history.Site(site)
		return nil
	})
	flag.BoolVar(&cfg.Forgets, "forgets", false, "Redis is made to forget, and nothing else happens to it")
	flag.BoolVar(&cfg.Linger, "linger", false, "holders stay for long")
	flag.Parse()
	os.Exit(run(cfg))
}

// run does one run in a goroutine of its own, which a failure of the lab ends, as it would a test's.
func run(cfg history.Config) (code int) {
	lab := &lab{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer lab.clean()
		report, err := history.Run(lab, cfg)
		if printErr := report.Print(os.Stdout); printErr != nil {
			lab.Errorf("%v", printErr)
		}
		if err != nil {
			lab.Errorf("%v", err)
		}
	}()
	<-done
	if lab.failed.Load() {
		return 1
	}
	return 0
}

// lab stands in for a test, to which servers and proxies belong. The embedded interface is nil: what is
// not written here is not called.
type lab struct {
	testing.TB
	cleanups []func()
	failed   atomic.Bool
}

// Helper implements testing.TB.
func (l *lab) Helper() {}

// Cleanup implements testing.TB.
func (l *lab) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

// Errorf implements testing.TB.
func (l *lab) Errorf(format string, args ...any) {
	l.failed.Store(true)
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// Fatalf implements testing.TB.
func (l *lab) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	runtime.Goexit()
}

func (l *lab) clean() {
	for i := len(l.cleanups) - 1; i >= 0; i-- {
		l.cleanups[i]()
	}
}
