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

// FixedLease turns the watchdog off: the hold is not renewed and ends after d, for its owner a little earlier (see
// Hold.ValidUntil). d must be at least 100 ms.
func FixedLease(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "FixedLease", &o.Lease, d, handle.MinLease) }
}

// MaxWait limits how long Lock waits, and nothing else: unlike a deadline on its context it does not limit the work.
// When it elapses Lock returns ErrBusy, or ErrUnavailable if Redis did not answer. d must be positive; for a single
// attempt use TryLock.
func MaxWait(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "MaxWait", &o.MaxWait, d, time.Millisecond) }
}

// MaxHold ends a hold that is not unlocked after d, even though the watchdog could still renew it: its contexts end
// with LossMaxHold, and then it is released. It bounds how long a stuck holder blocks others. It therefore applies to
// the whole hold, whichever handles re-enter it. With several limits the earliest counts; the limit of a nested Lock
// counts until that level is unlocked.
func MaxHold(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "MaxHold", &o.MaxHold, d, time.Millisecond) }
}
