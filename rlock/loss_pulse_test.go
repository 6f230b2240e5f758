package rlock_test

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

// lossPulse notes when this process was not run: a loaded machine, or one that suspends it, can keep it
// from doing anything for longer than validity falls short of the lease. A context cannot end while its
// own process is stopped, and nobody in it can act on the hold then. So such times are taken out of the
// account, but only some of them: a library that keeps the machine busy itself would go unnoticed.
type lossPulse struct {
	stop chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex // guards gaps
	gaps []lossGap
}

type lossGap struct{ from, to time.Time }

const (
	lossBeat    = time.Millisecond
	lossForgive = 500 * time.Millisecond // at most
)

func newLossPulse(t *testing.T) *lossPulse {
	p := &lossPulse{stop: make(chan struct{})}
	p.done.Go(p.run)
	t.Cleanup(func() {
		close(p.stop)
		p.done.Wait()
	})
	return p
}

func (p *lossPulse) run() {
	timer := time.NewTimer(lossBeat)
	defer timer.Stop()
	last := time.Now()
	for {
		select {
		case <-timer.C:
		case <-p.stop:
			return
		}
		now := time.Now()
		if now.Sub(last) > 3*lossBeat {
			p.mu.Lock()
			p.gaps = append(p.gaps, lossGap{last, now})
			p.mu.Unlock()
		}
		last = now
		timer.Reset(lossBeat)
	}
}

// stood returns for how long the process was not run between two instants.
func (p *lossPulse) stood(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sum time.Duration
	for _, gap := range p.gaps {
		start, end := gap.from, gap.to
		if start.Before(from) {
			start = from
		}
		if end.After(to) {
			end = to
		}
		if end.After(start) {
			sum += end.Sub(start)
		}
	}
	return sum
}

// inTime checks that the context of h ended before Redis could end the lease. What was late because the
// process was not run after the end of validity counts twice, since all that was due meanwhile is then
// done in a crowd.
func (p *lossPulse) inTime(h *lossHold) error {
	late := h.ended.Sub(h.expiry)
	if late < 0 || late < min(2*p.stood(h.until, h.ended), lossForgive) {
		return nil
	}
	return fmt.Errorf("%s: the context ended %v after the lease; %s", h.name, late, lossReady())
}

// lossReady says for how long goroutines of this process that could run had to wait until they ran. A thread that the
// system does not run keeps the goroutines that are queued for it; the pulse, which runs on another one, may not notice.
func lossReady() string {
	const name = "/sched/latencies:seconds"
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return "this Go has no metric " + name
	}
	h, most := sample[0].Value.Float64Histogram(), 0.0
	for i, n := range h.Counts {
		if n > 0 {
			most = h.Buckets[i]
		}
	}
	return fmt.Sprintf("a goroutine that was ready waited for %.3f s or more", most)
}
