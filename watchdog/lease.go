package watchdog

import (
	"sync"
	"sync/atomic"
	"time"
)

// Margin is what the validity of a lease falls short of it: 1 % for clocks that
// run at different rates, 2 ms for the granularity of expiry in Redis, and one
// tick of the wheel.
func Margin(lease, tick time.Duration) time.Duration {
	const granularity = 2 * time.Millisecond
	return lease/100 + granularity + tick
}

// Lease is what a [Watchdog] looks after: one for every hold, embedded in it or
// a field of it. The zero value is ready. A Lease has one life: once it was
// stopped or lost it stays so. It must not be copied after first use.
type Lease struct {
	// Owner is the user's: what the lease belongs to. The watchdog does not
	// touch it. It must be set before the lease is first handed over.
	Owner any

	dog   *Watchdog // set before the timer is first armed, then constant
	timer Timer
	queue *Lease // the next one in the shard's queue; guarded by Watchdog.mu

	// validity is written under mu and read without.
	validity atomic.Int64

	mu      sync.Mutex // guards everything below; taken before Watchdog.mu and Wheel.mu
	renewAt time.Duration
	failure *error // of the last renewal, if it has failed: most never do, and this takes less memory
	// generation counts what invalidates answers that are under way.
	generation uint32
	state      state
	kept       bool // renewed, not only guarded
	busy       bool // queued for a renewal, or in one
}

type state uint8

const (
	unused state = iota
	live
	lost
	stopped
)

// ValidUntil returns the instant of the watchdog's clock until which the lease
// may be believed in. It stays as it was when the lease is stopped or lost, and
// is zero before the lease was first handed over. It is safe for concurrent use.
func (l *Lease) ValidUntil() time.Duration {
	return time.Duration(l.validity.Load())
}

// Failing reports that the last renewal failed, also of a lease that was stopped
// after that. It is safe for concurrent use.
func (l *Lease) Failing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != nil
}

func (l *Lease) setValidityLocked(until time.Duration) {
	l.validity.Store(int64(until))
}

func (l *Lease) raiseValidityLocked(until time.Duration) {
	if until > l.ValidUntil() {
		l.setValidityLocked(until)
	}
}

// nextLocked returns when the lease has to be looked at again. A renewal under
// way does not hold up the end of validity.
func (l *Lease) nextLocked() time.Duration {
	if l.kept && !l.busy {
		return min(l.renewAt, l.ValidUntil())
	}
	return l.ValidUntil()
}

// lastFailureLocked is what the last renewal failed for, nil if it did not.
func (l *Lease) lastFailureLocked() error {
	if l.failure == nil {
		return nil
	}
	return *l.failure
}
