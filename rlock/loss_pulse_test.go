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
//
// It has several beats, each of a timer and a goroutine. A timer belongs to one of the threads that run goroutines. If
// the system does not run that thread, its timers are late, because a busy thread does not look at those of another. A
// single beat might belong to a thread that runs, and notice nothing.
type lossPulse struct {
	stop chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex // guards gaps
	gaps [lossBeats][]lossGap

	before metrics.Float64Histogram // of what goroutines waited that were ready; empty if this Go does not tell
}

type lossGap struct{ from, to time.Time }

const (
	lossBeats   = 8
	lossBeat    = 4 * time.Millisecond
	lossForgive = 2 * time.Second // at most
	lossStall   = 250 * time.Millisecond
)

func newLossPulse(t *testing.T) *lossPulse {
	p := &lossPulse{stop: make(chan struct{}), before: lossLatencies()}
	for i := range p.gaps {
		p.done.Go(func() { p.beat(&p.gaps[i]) })
	}
	t.Cleanup(func() {
		close(p.stop)
		p.done.Wait()
	})
	return p
}

func (p *lossPulse) beat(gaps *[]lossGap) {
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
			*gaps = append(*gaps, lossGap{last, now})
			p.mu.Unlock()
		}
		last = now
		timer.Reset(lossBeat)
	}
}

// stood returns for how long the process did not run one of its beats between two instants, at most.
func (p *lossPulse) stood(from, to time.Time) (most time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, gaps := range p.gaps {
		most = max(most, lossStood(gaps, from, to))
	}
	return most
}

func lossStood(gaps []lossGap, from, to time.Time) (sum time.Duration) {
	for _, gap := range gaps {
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
// done in a crowd. A thread that the system does not run keeps the goroutines that are queued for it; the pulse,
// which runs on another one, may not notice, so what those waited counts as well, if it was a stall.
func (p *lossPulse) inTime(h *lossHold) error {
	late := h.ended.Sub(h.expiry)
	stood, ready := p.stood(h.until, h.ended), p.ready()
	if late < 0 || late < min(max(2*stood, ready), lossForgive) {
		return nil
	}
	return fmt.Errorf("%s: the context ended %v after the lease; the process stood still for %v meanwhile; "+
		"since the test began, a goroutine that was ready waited for %v at most", h.name, late, stood, ready)
}

// ready is for how long, at most, a goroutine of this process has waited to be run since the pulse began, up to the end
// of that bucket; 0 if it was no stall, or this Go does not tell.
func (p *lossPulse) ready() (most time.Duration) {
	now := lossLatencies()
	for i, n := range now.Counts {
		if n > p.before.Counts[i] && now.Buckets[i] >= lossStall.Seconds() {
			most = time.Duration(min(now.Buckets[i+1], lossForgive.Seconds()) * float64(time.Second))
		}
	}
	return most
}

func lossLatencies() metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return metrics.Float64Histogram{}
	}
	return *sample[0].Value.Float64Histogram()
}
