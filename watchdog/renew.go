package watchdog

import (
	"errors"
	"time"
)

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
	now := w.cfg.Clock.Now()
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
		l.renewAt = w.renewalAfter(start, result.Lease)
		l.raiseValidityLocked(start + result.Lease - Margin(result.Lease, w.cfg.Wheel.tick))
	case errors.Is(err, ErrGone):
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
