// Package handle is what stands behind a lock and an option of package lock, for whoever makes or opens one inside this
// module: a *lock.Lock and a *[Lock] convert to one another, and a lock.Option is a function of [Options]. Outside of
// the module neither name can be written, and the fields are hidden, so the conversion is open to nobody else, and the
// documentation of package lock has nothing of it.
package handle

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Lock is a lock.Lock as it is inside.
type Lock struct{ parts Parts }

// Parts are what a lock is made of.
type Parts struct {
	Engine  *engine.Engine // nil in a zero Lock
	Request engine.Request // what its calls ask for, with the protocol
	Err     error          // a bad argument, told by every call
}

// NoLock is what is wrong with a lock that is not made of parts.
const NoLock = "must come from New; its zero value is no lock"

// New makes a lock of its parts. An error that they have goes before what the protocol says of the lease.
func New(p Parts) *Lock {
	if p.Err == nil {
		p.Err = CheckLease(p.Request)
	}
	return &Lock{p}
}

// Parts are those that the lock was made of. They must not be changed.
func (l *Lock) Parts() *Parts { return &l.parts }

// CheckLease asks the protocol of a request whether it takes the lease.
func CheckLease(req engine.Request) error {
	if check := req.Proto.Traits().CheckLease; check != nil {
		return check(req.Lease)
	}
	return nil
}

// Options are what options ask for; zero is what they do not.
type Options struct {
	Lease   time.Duration // fixed
	MaxWait time.Duration
	MaxHold time.Duration
	Err     error // the first bad value; told by the first call on the handle
}

// Collect is what all of the options ask for. Nil ones are skipped.
func Collect[Option ~func(*Options)](opts []Option) Options {
	var o Options
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}

// Over is the request with what the options change.
func (o Options) Over(req engine.Request) engine.Request {
	if o.Lease > 0 {
		req.Lease, req.Kept = o.Lease, false
	}
	if o.MaxWait > 0 {
		req.MaxWait = o.MaxWait
	}
	if o.MaxHold > 0 {
		req.MaxHold = o.MaxHold
	}
	return req
}

const (
	// MinLease is the shortest lease that there may be.
	MinLease = 100 * time.Millisecond
	maxTime  = 366 * 24 * time.Hour
)

// RoundTime rounds a time up to the whole milliseconds that a store is told, and says what is wrong with it, if
// anything is.
func RoundTime(d *time.Duration, least time.Duration) (problem string) {
	if *d < least {
		return "must be at least " + least.String()
	}
	if *d > maxTime {
		return "must be at most a year"
	}
	if rest := *d % time.Millisecond; rest != 0 {
		*d += time.Millisecond - rest
	}
	return ""
}

// joined is two errors in one line.
type joined struct{ first, second error }

func (j *joined) Error() string   { return j.first.Error() + "; " + j.second.Error() }
func (j *joined) Unwrap() []error { return []error{j.first, j.second} }

// Join makes one error of two, on one line; either may be nil.
func Join(first, second error) error {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return &joined{first, second}
}
