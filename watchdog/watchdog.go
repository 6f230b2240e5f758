package watchdog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const defaultBatch = 256

// Config configures a [Watchdog]. Wheel, Period, Renew and Lost are required.
//
// The functions are called without any lock of the watchdog and may call its
// methods, except Close. They must not panic. Nothing recovers a panic, because
// a holder that was not told of a loss is worse than a process that has died.
type Config struct {
	// Wheel keeps the time. It may be shared and stays open after Close. It must
	// not be closed before the watchdog.
	Wheel *Wheel
	// Clock is the wheel's clock, and may be nil.
	Clock *Clock
	// Period is how long after the start of the last confirmed call a lease is
	// renewed: usually a third of the lease. It is rounded down by up to an
	// eighth, so that leases that are due at nearly the same time share a call.
	// A shorter lease is renewed after a third of itself.
	Period time.Duration
	// Retry is the pause after a transient failure. Zero means Period/8.
	Retry time.Duration
	// Limit is the deadline of one call of Renew. Zero means Period/2.
	Limit time.Duration
	// Batch is the maximum number of leases in one call. Zero means 256.
	Batch int
	// Most is the maximum number of leases in one call while more are due than
	// calls of Batch can renew in time: after each quick call the next may be
	// twice as large. Zero means Batch.
	Most int
	// Shard names the part of the store that serves l; shards do not wait for
	// one another. It is called when l is due, on the wheel's goroutine, and
	// must not block. Nil means that all leases are one shard.
	Shard func(l *Lease) string
	// Renew renews due[i] and stores the outcome in results[i]; a result that it
	// leaves empty counts as a transient failure. It is called for one batch of
	// a shard at a time and may block until ctx ends, not longer. It must not
	// keep the slices. Some of the leases may have been stopped meanwhile.
	Renew func(ctx context.Context, shard string, due []*Lease, results []Result)
	// Lost is called when a lease is lost, at most once for each and never
	// after [Watchdog.Stop] returned true for it. If validity ended, cause is
	// the error of the last renewal, or nil if that did not fail; if the store
	// no longer knows the hold, cause wraps [ErrGone]. It must be quick: it
	// may run on the wheel's goroutine.
	Lost func(l *Lease, cause error)
	// Renewed is called with nil or the error after every renewal that had an
	// outcome for a live lease, after Lost if that is called too. It may be
	// called after a Stop that ran at the same time. It must be quick. Optional.
	Renewed func(l *Lease, err error)
}

// Watchdog looks after leases: it renews them, and reports a loss before anyone
// else can be granted the hold. All methods are safe for concurrent use.
type Watchdog struct {
	cfg Config // with defaults filled in; constant

	ctx    context.Context // ends with Close; parent of all calls of Renew
	cancel context.CancelFunc
	check  func(arg any) // checkLease, made once: a lease needs no pointer to the watchdog, nor an allocation for it
	live   atomic.Int64

	mu      sync.Mutex // guards everything below
	shards  map[string]*shard
	fresh   []*shard // shards that no goroutine serves yet
	gather  Timer    // starts a goroutine for each of them
	closed  bool
	running sync.WaitGroup // senders and calls of Lost; no Add once closed is set
}

// New returns a watchdog. It panics if a required field of cfg is missing. It
// has no goroutine of its own until leases are due.
func New(cfg Config) *Watchdog {
	if cfg.Wheel == nil || cfg.Renew == nil || cfg.Lost == nil || cfg.Period <= 0 {
		panic("watchdog: Wheel, Period, Renew and Lost are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = cfg.Wheel.clock
	}
	if cfg.Retry <= 0 {
		cfg.Retry = cfg.Period / 8
	}
	if cfg.Limit <= 0 {
		cfg.Limit = cfg.Period / 2
	}
	if cfg.Batch <= 0 {
		cfg.Batch = defaultBatch
	}
	cfg.Most = max(cfg.Most, cfg.Batch)
	w := &Watchdog{cfg: cfg, shards: make(map[string]*shard)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.check = w.checkLease
	w.gather.Init(gather, w)
	return w
}

// Renew has l renewed from now on. The lease was granted or extended by a call that
// started at start: it is valid until start + lease - Margin and is first
// renewed at start + Period. Renew does not lower the validity. If it has ended
// already, Lost is called soon. Renew does nothing if l is guarded, was stopped or
// lost, or w is closed.
func (w *Watchdog) Renew(l *Lease, start, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == live && !l.renewed || !w.beginLocked(l) {
		return
	}
	l.renewed = true
	l.renewAt = w.renewalAfter(start, lease)
	l.raiseValidityLocked(start + lease - Margin(lease, w.cfg.Wheel.tick))
	w.armLocked(l)
}

// Guard watches l without renewing it, from now on and for good: Lost is called
// when validUntil is reached. It sets the validity, up or down, and answers to
// renewals under way do not change that. Guard does nothing if l was stopped or
// lost, or w is closed.
func (w *Watchdog) Guard(l *Lease, validUntil time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.beginLocked(l) {
		return
	}
	l.renewed = false
	l.setValidityLocked(validUntil)
	w.armLocked(l)
}

// Hurry has l renewed at once, unless l is guarded.
func (w *Watchdog) Hurry(l *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == live && l.renewed {
		l.renewAt = 0
		w.armLocked(l)
	}
}

// Stop ends the watch over l: no further renewal starts, and Lost is not called.
// It reports whether l was live. If l was not live, it was lost already (Lost
// was or is being called), was stopped before, or was never passed to Renew or
// Guard, which do nothing for it from then on. Stop does not wait for a renewal under way.
func (w *Watchdog) Stop(l *Lease) bool {
	return w.end(l, stopped)
}

// Lose marks l as lost because the caller learned of the loss. Lost is not
// called. It reports whether l was live.
func (w *Watchdog) Lose(l *Lease) bool {
	return w.end(l, lost)
}

// Len returns the number of live leases.
func (w *Watchdog) Len() int { return int(w.live.Load()) }

// Close ends all renewals and waits for every goroutine of the watchdog and for
// calls of Lost; there are none after it returned. Live leases stay live until
// Stop, but nothing watches them. Close must not be called from a function of
// Config. Further calls wait as well and change nothing.
func (w *Watchdog) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.cfg.Wheel.Cancel(&w.gather)
	w.running.Wait()
}
