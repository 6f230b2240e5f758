package watchdog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const defaultBatch = 256

// Config is what a [Watchdog] needs. Wheel, Period, Renew and Lost are required.
//
// The functions are called without any lock of the watchdog and may call its
// methods, except Close. They must not panic: nothing recovers them, since a
// holder that was not told of a loss is worse than a process that is gone.
type Config struct {
	// Wheel keeps the time. It may be shared and stays open after Close; it
	// must not be closed before the watchdog.
	Wheel *Wheel
	// Clock is the wheel's clock, which nil means as well.
	Clock *Clock
	// Period is how long after the start of the last confirmed call a lease
	// is renewed: a third of the lease, usually. It is rounded down by up to
	// an eighth, so that leases that are due at nearly the same time share a
	// call. A lease too short for it is renewed after a third of itself.
	Period time.Duration
	// Retry is the pause after a transient failure. Zero means Period/8.
	Retry time.Duration
	// Limit is the deadline of one call of Renew. Zero means Period/2.
	Limit time.Duration
	// Batch is the number of leases in one call, at most. Zero means 256.
	Batch int
	// Most is the greatest number of leases in one call while more are due than
	// calls of Batch can renew in time: each call that was quick may be followed
	// by one that is twice as long. Zero means Batch.
	Most int
	// Shard names the part of the world that answers for l: no part waits
	// for another one. It is called when l is due, on the wheel's goroutine,
	// and must not block. Nil means that all leases are one shard.
	Shard func(l *Lease) string
	// Renew renews due[i] and says in results[i] what became of it; what it
	// leaves out counts as a transient failure. It is called for one batch of
	// a shard at a time and may block until ctx ends, not longer. It must not
	// keep the slices. Some of the leases may have been stopped meanwhile.
	Renew func(ctx context.Context, shard string, due []*Lease, results []Result)
	// Lost is called when a lease is lost, at most once for each and never
	// after [Watchdog.Stop] returned true for it. If validity ended, cause is
	// the error of the last renewal, or nil if that did not fail; if Redis
	// no longer knows the hold, cause wraps [ErrGone]. It must be quick: it
	// may run on the wheel's goroutine.
	Lost func(l *Lease, cause error)
	// Renewed is called after every renewal that had an outcome for a live
	// lease, with nil or the error; after Lost if that is called too. It may
	// come after a Stop that ran at the same time. It must be quick. Optional.
	Renewed func(l *Lease, err error)
}

// Watchdog looks after leases: it renews them, and tells when one is lost before
// anyone else can have what it stands for. All methods are safe for concurrent
// use.
type Watchdog struct {
	cfg Config // with defaults filled in; constant

	ctx    context.Context // ends with Close; parent of all calls of Renew
	cancel context.CancelFunc
	live   atomic.Int64

	mu      sync.Mutex // guards everything below
	shards  map[string]*shard
	fresh   []*shard // of which no goroutine takes care yet
	gather  Timer    // wakes a goroutine for each of them
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
	w.gather.Init(gather, w)
	return w
}

// Keep has l renewed from now on. The lease was granted or extended by a call
// that started at start: it is valid until start + lease - Margin and renewed
// first at start + Period. A lease that was only guarded is renewed from now on.
// Validity does not fall by this call. If it has ended already, Lost is called
// soon. Keep does nothing if l was stopped or lost, or w is closed.
func (w *Watchdog) Keep(l *Lease, start, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.beginLocked(l) {
		return
	}
	l.kept = true
	l.renewAt = w.renewalAfter(start, lease)
	l.raiseValidityLocked(start + lease - Margin(lease, w.cfg.Wheel.tick))
	w.armLocked(l)
}

// Guard has l not renewed, or no more: Lost is called when validUntil is
// reached. It sets validity, up or down, and answers to renewals under way do
// not change that. Guard does nothing if l was stopped or lost, or w is closed.
func (w *Watchdog) Guard(l *Lease, validUntil time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.beginLocked(l) {
		return
	}
	l.kept = false
	l.generation++
	l.setValidityLocked(validUntil)
	w.armLocked(l)
}

// Hurry has l renewed at once, if it is renewed at all.
func (w *Watchdog) Hurry(l *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == live && l.kept {
		l.renewAt = 0
		w.armLocked(l)
	}
}

// Extend raises the validity of l to validUntil, after a confirmation by other
// means than a renewal. It never lowers it, and does nothing if l is not live.
func (w *Watchdog) Extend(l *Lease, validUntil time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == live && validUntil > l.ValidUntil() {
		l.setValidityLocked(validUntil)
		w.armLocked(l)
	}
}

// Shorten lowers the validity of l to validUntil; it never raises it, and does
// nothing if l is not live. Answers to renewals under way do not raise it again,
// the next renewal does, and is made at once if it would otherwise be too late.
func (w *Watchdog) Shorten(l *Lease, validUntil time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != live {
		return
	}
	// Also if it is not lower: the answer under way might raise it.
	l.generation++
	if validUntil < l.ValidUntil() {
		l.setValidityLocked(validUntil)
	}
	if l.renewAt >= l.ValidUntil() {
		l.renewAt = 0
	}
	w.armLocked(l)
}

// Stop ends the watch over l: no renewal starts for it any more, and Lost is
// not called. It reports whether l was live; if it was not, it was lost already
// (Lost was or is being called), stopped before, or never handed over, which
// then it cannot be any more. Stop does not wait for a renewal under way.
func (w *Watchdog) Stop(l *Lease) bool {
	return w.end(l, stopped)
}

// Lose marks l as lost, on the word of somebody else who learned it. Lost is not
// called. It reports whether l was live.
func (w *Watchdog) Lose(l *Lease, _ error) bool {
	return w.end(l, lost)
}

// Len returns the number of live leases.
func (w *Watchdog) Len() int { return int(w.live.Load()) }

// Close ends all renewals and waits for every goroutine of the watchdog and for
// calls of Lost: none is made after it returned. Leases that are live stay so
// until Stop, without anybody looking after them. It must not be called from a
// function of Config. Further calls wait as well and change nothing.
func (w *Watchdog) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.cfg.Wheel.Cancel(&w.gather)
	w.running.Wait()
}
