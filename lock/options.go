package lock

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
)

// Option adjusts one handle.
type Option func(*handle.Options)

func set(o *handle.Options, name string, to *time.Duration, d, least time.Duration) {
	*to = d
	if problem := handle.RoundTime(to, least); problem != "" && o.Err == nil {
		o.Err = &ArgumentError{Name: name, Value: d, Problem: problem}
	}
}

// FixedLease turns the watchdog off: the hold is not renewed and is over after d, for its owner a
// little earlier (see Hold.ValidUntil). d is at least 100 ms.
func FixedLease(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "FixedLease", &o.Lease, d, handle.MinLease) }
}

// MaxWait limits how long Lock waits, and nothing else: unlike a deadline of its context it does not
// cut the work short. Lock then returns ErrBusy, or ErrUnavailable if Redis did not answer. d is
// positive; TryLock is for a single attempt.
func MaxWait(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "MaxWait", &o.MaxWait, d, time.Millisecond) }
}

// MaxHold ends a hold that was not unlocked after d, though the watchdog could go on: its contexts end
// with LossMaxHold, and then it is released. It bounds what a stuck holder costs the others, and so the
// hold as a whole, by whatever handles it is entered again. With several limits the earliest counts; one
// that came with a nested Lock counts until that level is unlocked.
func MaxHold(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "MaxHold", &o.MaxHold, d, time.Millisecond) }
}
