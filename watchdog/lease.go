package watchdog

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Margin is how much shorter than its lease a validity is: 1 % for clocks that
// run at different rates, 2 ms for the granularity of expiry in Redis, and one
// tick of the wheel.
func Margin(lease, tick time.Duration) time.Duration {
	const granularity = 2 * time.Millisecond
	return lease/100 + granularity + tick
}

// Lease is the unit that a [Watchdog] looks after: one for every hold, embedded
// in it or a field of it. The zero value is ready to use. A Lease has one life:
// once stopped or lost it stays so. It must not be copied after first use.
type Lease struct {
	// Of is for the user: the object that the lease belongs to. The watchdog
	// does not touch it. It must be set before the lease is first passed to a
	// method.
	Of any

	timer Timer

	// validity and failure are written under mu and read without.
	validity atomic.Int64
	failure  atomic.Pointer[error] // of the last renewal, if it failed; a pointer takes less memory, as most never do

	mu      sync.Mutex    // guards everything below; taken before Watchdog.mu and Wheel.mu
	renewAt time.Duration // 0: at once; asked: it is being renewed
	state   state
	renewed bool // not only guarded
	queued  bool // for a renewal, or in one
}

// asked is when a lease is renewed that is being renewed: nobody knows yet.
const asked time.Duration = math.MaxInt64

type state uint8

const (
	unused state = iota
	live
	lost
	stopped
)

// ValidUntil returns the instant of the watchdog's clock until which the lease
// may be relied on. It stays unchanged when the lease is stopped or lost, and is
// zero before the lease was first passed to a method. It is safe for concurrent
// use.
func (l *Lease) ValidUntil() time.Duration {
	return time.Duration(l.validity.Load())
}

// Failing reports that the last renewal failed, even if the lease was stopped
// after that. It is safe for concurrent use.
func (l *Lease) Failing() bool { return l.failure.Load() != nil }

// Failure returns the error of the last renewal, or nil if that did not fail,
// even if the lease was stopped after that. It is safe for concurrent use.
func (l *Lease) Failure() error {
	if failed := l.failure.Load(); failed != nil {
		return *failed
	}
	return nil
}

func (l *Lease) setValidityLocked(until time.Duration) {
	l.validity.Store(int64(until))
}

func (l *Lease) raiseValidityLocked(until time.Duration) {
	if until > l.ValidUntil() {
		l.setValidityLocked(until)
	}
}

// nextLocked returns when the lease must be checked again. A renewal under way
// does not delay the end of validity.
func (l *Lease) nextLocked() time.Duration {
	if l.renewed && !l.queued {
		return min(l.renewAt, l.ValidUntil())
	}
	return l.ValidUntil()
}
