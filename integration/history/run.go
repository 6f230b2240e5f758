package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// run is one run under way.
type run struct {
	ground  ground // where faults are injected
	cfg     Config
	seats   []*seat
	record  *record
	report  *Report
	t       testing.TB
	late    sync.WaitGroup // faults that still have to end
	exports atomic.Int64   // holds on their way from process to process, so far

	mu  sync.Mutex // guards err
	err error      // of a fault that could not be injected
}

// Run carries out a run and returns its figures, and what was wrong with it. It always returns a report,
// even of an incomplete run.
func Run(t testing.TB, cfg Config) (*Report, error) {
	t.Helper()
	report := &Report{Config: cfg, Faults: make(map[string]int)}
	cfg, err := cfg.fill()
	if err != nil {
		return report, err
	}
	report.Config = cfg
	lab := &lenient{TB: t}
	r := &run{cfg: cfg, record: newRecord(), report: report, t: t}
	r.record.strict, r.record.export = cfg.Forgets, r.export
	r.record.bounds.Reply = 2 * (cfg.Lease / 6) // a command's limit, and as much for a busy machine, as in telling
	r.record.bounds.Telling = cfg.Lease         // of a hold that its own process breaks, whatever the network does
	if cfg.Forgets {
		r.record.bounds.Telling = cfg.telling()
	}
	r.build(lab)
	defer r.clear()
	start := time.Now()
	err = r.phases()
	report.Duration = time.Since(start)
	report.Undelivered = int(lab.undelivered.Load())
	report.take(r.record)
	return report, errors.Join(err, r.failure(), r.record.judge(), r.record.linearize(report))
}

// clear kills what still runs. After a successful run there is nothing.
func (r *run) clear() {
	r.late.Wait()
	for _, s := range r.seats {
		if p := s.current(); p != nil {
			p.kill()
		}
	}
}

func (r *run) phases() error {
	for _, phase := range []struct {
		name string
		run  func() error
	}{
		{"warm-up", r.warmUp}, {"faults", r.inject}, {"heal", r.heal},
		{"liveness", r.liveness}, {"audit", r.audit},
	} {
		start := time.Now()
		err := phase.run()
		r.cfg.Log("%s: %v, %d acquisitions so far", phase.name, time.Since(start).Round(time.Millisecond),
			r.record.acquisitions())
		if err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return nil
}

// warmUp starts the clients and waits until they work.
func (r *run) warmUp() error {
	for _, s := range r.seats {
		if err := r.occupy(s); err != nil {
			return err
		}
	}
	for end := time.Now().Add(warmUpTime); r.record.acquisitions() < r.cfg.warmUp(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("void: %d acquisitions within %v", r.record.acquisitions(), warmUpTime)
		}
	}
	return nil
}

// inject spreads the faults over the acquisitions: the next one comes when its share of them was made, or
// after two leases, because faults make acquisitions rare. Every kind comes once before any of them comes
// again. A kind that did not happen, because it met nothing, is repeated until it does.
func (r *run) inject() error {
	random := rand.New(rand.NewPCG(r.cfg.Seed, 1))
	from, end := r.record.acquisitions(), time.Now().Add(r.cfg.Limit)
	due := func(fault int) bool {
		return r.record.acquisitions()-from >= fault*r.cfg.Acquisitions/r.cfg.Faults
	}
	kinds, order := r.cfg.kinds(), []int(nil)
	for happened := 0; happened < r.cfg.Faults || len(r.report.missing()) > 0; {
		if len(order) == 0 {
			order = random.Perm(len(kinds))
		}
		if k := kinds[order[0]]; happened >= r.cfg.Faults && r.report.Faults[k.name] > 0 {
			order = order[1:]
			continue
		}
		for patience := time.Now().Add(2 * r.cfg.Lease); !due(happened) && time.Now().Before(patience); {
			time.Sleep(time.Millisecond)
		}
		n := kinds[order[0]].inject(r, random)
		r.report.Faults[kinds[order[0]].name] += n
		order, happened = order[1:], happened+n
		if err := errors.Join(r.failure(), r.record.glance()); err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d faults within %v", happened, r.cfg.Limit)
		}
	}
	for !due(r.cfg.Faults) {
		time.Sleep(time.Millisecond)
		if time.Now().After(end) {
			return fmt.Errorf("%d acquisitions within %v", r.record.acquisitions()-from, r.cfg.Limit)
		}
	}
	return nil
}

// heal ends the faults, and waits until no call is under way and no lock held.
func (r *run) heal() error {
	r.late.Wait()
	healed := stamp.Now()
	if err := r.sayAll(sayPause); err != nil {
		return err
	}
	if err := r.paused(r.cfg.bound()); err != nil {
		return err
	}
	r.report.LongestWait, r.report.Waiter = LongestWait(r.record.returned(), healed)
	if r.report.LongestWait > r.cfg.bound() {
		return fmt.Errorf("%+v took %v after the heal", r.report.Waiter, r.report.LongestWait)
	}
	if missing := r.report.missing(); len(missing) > 0 {
		return fmt.Errorf("never happened: %s", strings.Join(missing, ", "))
	}
	return r.emptied()
}

func (r *run) sayAll(order string) error {
	for _, s := range r.seats {
		if err := s.current().say(order); err != nil {
			return err
		}
	}
	return nil
}
