package watchdog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	testLease  = 30 * time.Second
	testPeriod = testLease / 3
	testRetry  = time.Second
	testLimit  = 5 * time.Second
)

var errDown = errors.New("connection refused")

// call is one call of Renew, as the fake Redis saw it.
type call struct {
	at    time.Duration
	shard string
	due   []*Lease
}

// loss is one call of Lost.
type loss struct {
	at    time.Duration
	lease *Lease
	cause error
}

// kennel is a watchdog with a fake Redis and a record of what happens.
type kennel struct {
	*Watchdog
	clock *Clock
	wheel *Wheel

	mu       sync.Mutex // guards everything below
	calls    []call
	losses   []loss
	outcomes []error
	answer   func(ctx context.Context, shard string, due []*Lease, results []Result)
}

// inKennel runs fn in a bubble. The fake Redis renews everything, until told
// otherwise. change may alter the configuration.
func inKennel(t *testing.T, change func(cfg *Config), fn func(t *testing.T, k *kennel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		k := newKennel(clock, change)
		defer k.wheel.Close()
		defer k.Close()
		fn(t, k)
	})
}

func newKennel(clock *Clock, change func(cfg *Config)) *kennel {
	k := &kennel{clock: clock, wheel: NewWheel(clock, testTick), answer: renewAll}
	cfg := Config{
		Wheel: k.wheel, Clock: clock,
		Period: testPeriod, Retry: testRetry, Limit: testLimit,
		Renew: k.renew, Lost: k.lost, Renewed: k.renewed,
	}
	if change != nil {
		change(&cfg)
	}
	k.Watchdog = New(cfg)
	return k
}

func (k *kennel) renew(ctx context.Context, shard string, due []*Lease, results []Result) {
	k.mu.Lock()
	k.calls = append(k.calls, call{at: k.clock.Now(), shard: shard, due: slices.Clone(due)})
	answer := k.answer
	k.mu.Unlock()
	answer(ctx, shard, due, results)
}

func (k *kennel) lost(l *Lease, cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.losses = append(k.losses, loss{at: k.clock.Now(), lease: l, cause: cause})
}

func (k *kennel) renewed(_ *Lease, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.outcomes = append(k.outcomes, err)
}

func (k *kennel) set(answer func(ctx context.Context, shard string, due []*Lease, results []Result)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer = answer
}

// sleepTo sleeps until the given instant and lets everything happen that is due
// by then.
func (k *kennel) sleepTo(at time.Duration) {
	time.Sleep(at - k.clock.Now())
	synctest.Wait()
}

func (k *kennel) seenCalls() []call {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.calls)
}

func (k *kennel) seenLosses() []loss {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.losses)
}

func (k *kennel) seenOutcomes() []error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.outcomes)
}

func renewAll(_ context.Context, _ string, _ []*Lease, results []Result) {
	for i := range results {
		results[i] = Result{Lease: testLease}
	}
}

func fail(err error) func(context.Context, string, []*Lease, []Result) {
	return func(_ context.Context, _ string, _ []*Lease, results []Result) {
		for i := range results {
			results[i] = Result{Err: err}
		}
	}
}

// hang answers nothing until its deadline.
func hang(ctx context.Context, _ string, _ []*Lease, _ []Result) { <-ctx.Done() }

// after answers as then does, but later, whatever the deadline says.
func after(d time.Duration, then func(context.Context, string, []*Lease, []Result)) func(context.Context, string, []*Lease, []Result) {
	return func(ctx context.Context, shard string, due []*Lease, results []Result) {
		time.Sleep(d)
		then(ctx, shard, due, results)
	}
}
