package watchdog

import (
	"context"
	"errors"
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

// Hurry has l renewed at once, unless l is guarded. If a renewal is under way, another one follows it: what l is
// hurried for may have happened after the answer of the first.
func (w *Watchdog) Hurry(l *Lease) { w.soon(l, true) }

// Refresh has l renewed at once, unless l is guarded, or a renewal is under way: that one is as good.
func (w *Watchdog) Refresh(l *Lease) { w.soon(l, false) }

// soon has l renewed at once, and once more if it is being renewed.
func (w *Watchdog) soon(l *Lease, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == live && l.renewed && (again || l.renewAt != asked) {
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

// ErrGone says that the store no longer knows a hold: it is lost, however much
// validity was left.
var ErrGone = errors.New("the lease is gone")

var (
	errNoAnswer = errors.New("the renewal was not answered")
	errTooLate  = errors.New("renewed, but the answer came too late")
)

// Result is the outcome of a renewal for one lease.
type Result struct {
	// Lease is how long the store keeps a renewed hold, counted from the start
	// of the call.
	Lease time.Duration
	// Err is nil if the lease was renewed, an error that wraps [ErrGone] if
	// the store says that the hold is gone, and anything else for a transient
	// failure: the renewal is retried while the lease is valid.
	Err error
}

func (w *Watchdog) beginLocked(l *Lease) bool {
	switch l.state {
	case live:
		return true
	case unused:
	default:
		return false
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return false
	}
	l.timer.Init(w.check, l)
	l.state = live
	w.live.Add(1)
	return true
}

func (w *Watchdog) end(l *Lease, as state) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.endLocked(l, as)
}

// endLocked is the only transition out of live. The call that gets true decides
// the outcome: no callback (Stop, Lose), or a call of Lost.
func (w *Watchdog) endLocked(l *Lease, as state) bool {
	was := l.state
	if was == unused || was == live {
		l.state = as
	}
	if was != live {
		return false
	}
	if as == lost { // its user may keep it for long
		l.failure.Store(nil)
	}
	w.cfg.Wheel.Cancel(&l.timer)
	w.live.Add(-1)
	return true
}

func (w *Watchdog) armLocked(l *Lease) {
	w.cfg.Wheel.Schedule(&l.timer, l.nextLocked())
}

// renewalAfter returns when to renew a lease that was confirmed by a call that
// started at start. Rounding moves leases that are due at nearly the same time
// to the same tick, and so into the same call.
func (w *Watchdog) renewalAfter(start, lease time.Duration) time.Duration {
	period := min(w.cfg.Period, lease/3)
	at := start + period
	if step := period / 8; step > 0 {
		at -= at % step
	}
	return at
}

// reached rounds down as the wheel does. Otherwise a timer that fired early
// would be armed for its own tick again.
func (w *Watchdog) reached(at, now time.Duration) bool {
	return w.cfg.Wheel.tickOf(at) <= w.cfg.Wheel.tickOf(now)
}

// checkLease is the lease's timer function. It acts on the state that it finds, not
// on what the timer was armed for, which may have changed meanwhile.
func (w *Watchdog) checkLease(arg any) {
	l := arg.(*Lease)
	now := w.cfg.Clock.Now()
	l.mu.Lock()
	switch {
	case l.state != live:
		l.mu.Unlock()
	case w.reached(l.ValidUntil(), now):
		w.loseAndUnlock(l, l.Failure())
	case l.renewed && !l.queued && w.reached(l.renewAt, now):
		l.queued = true
		w.armLocked(l)
		l.mu.Unlock()
		w.enqueue(l)
	default:
		w.armLocked(l)
		l.mu.Unlock()
	}
}

// loseAndUnlock ends l as lost, releases its lock and calls Lost, unless Close
// came first. l must be live and its lock held.
func (w *Watchdog) loseAndUnlock(l *Lease, cause error) {
	w.mu.Lock()
	closed := w.closed
	if !closed {
		w.running.Add(1)
	}
	w.mu.Unlock()
	if closed {
		l.mu.Unlock()
		return
	}
	defer w.running.Done()
	w.endLocked(l, lost)
	l.mu.Unlock()
	w.cfg.Lost(l, cause)
}

// settle handles the answer for one lease to a call that started at start.
func (w *Watchdog) settle(l *Lease, start time.Duration, result Result) {
	now, gone := w.cfg.Clock.Now(), errors.Is(result.Err, ErrGone) // without the mutex: an error may be anybody's
	l.mu.Lock()
	l.queued = false
	// A lease that is guarded meanwhile is armed for the end of its validity already.
	if l.state != live || !l.renewed || w.ctx.Err() != nil {
		l.mu.Unlock()
		return
	}
	err := w.judge(start, now, result)
	switch {
	case err == nil:
		l.failure.Store(nil)
		if l.renewAt != 0 { // otherwise it was hurried after the store may have answered
			l.renewAt = w.renewalAfter(start, result.Lease)
		}
		l.raiseValidityLocked(start + result.Lease - Margin(result.Lease, w.cfg.Wheel.tick))
	case gone:
		w.loseAndUnlock(l, err)
		w.report(l, err)
		return
	default:
		failed := err // a separate variable, so that err need not be on the heap in the usual case
		l.failure.Store(&failed)
		l.renewAt = now + w.cfg.Retry
	}
	w.armLocked(l)
	l.mu.Unlock()
	w.report(l, err)
}

// judge returns nil only for an answer that can still be relied on.
func (w *Watchdog) judge(start, now time.Duration, result Result) error {
	if result.Err != nil {
		return result.Err
	}
	if start+result.Lease-Margin(result.Lease, w.cfg.Wheel.tick) <= now {
		return errTooLate
	}
	return nil
}

func (w *Watchdog) report(l *Lease, err error) {
	if w.cfg.Renewed != nil {
		w.cfg.Renewed(l, err)
	}
}

// Renewing reports that the renewal of l is due, or under way. It is for tests.
func (w *Watchdog) Renewing(l *Lease) bool {
	now := w.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == live && l.renewed && (l.queued || w.reached(l.renewAt, now))
}
