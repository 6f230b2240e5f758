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

// Lease is the lease of the hold instead of the client's. The hold is renewed as ever: every third of the client's
// lease, or of its own if that is shorter. A longer lease survives a longer absence of the store; a shorter one makes
// others wait less after a crash. d must be at least a third of the client's lease, because the client's time limits of
// commands, and its pauses between two of them, are fractions of that. Not with FixedLease. A nested Lock leaves the
// lease of the outermost one as it is.
func Lease(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "Lease", &o.Renewed, d, handle.MinLease) }
}

// FixedLease turns the watchdog off: the hold is not renewed and ends after d, for its owner a little earlier (see
// Hold.ValidUntil). d must be at least 100 ms. A nested Lock leaves the lease of the outermost one as it is.
func FixedLease(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "FixedLease", &o.Lease, d, handle.MinLease) }
}

// MaxWait limits how long Lock waits, instead of the client's MaxWait, and nothing else: unlike a deadline on its
// context it does not limit the work. When it elapses Lock returns ErrBusy, or ErrUnavailable if the store did not
// answer. d must be positive; for a single attempt use TryLock.
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

// MinHold retains the lock for d from its acquisition, however early the hold is unlocked: for a short job that must
// not run again on a machine whose clock is behind, where it is due a little later. Unlock ends the hold and returns as
// ever, after one request; the store then retains the lock for what is left of d, by its own clock, under an id that is
// nobody's. Until that is over the lock is busy for everybody, callers of this process included: it is not passed on
// to them, and Close does not free it. Only Break does.
//
// It retains the lock only if unlock, Close, or the end of a hold by MaxHold reaches the store. A process that dies
// leaves the rest of its lease, which may be less than d: its job may not have been done. A call that fails retains
// nothing. With several limits, of nested levels for instance, the latest counts. Export carries it to the importer. A
// d longer than FixedLease is refused.
//
// Only the reentrant lock has it. Other kinds, and sets of package multilock, refuse it.
func MinHold(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "MinHold", &o.MinHold, d, time.Millisecond) }
}

// Keep leaves the lock with this process for d after its last unlock, at most, if no other caller of the process waits:
// for a name that one process locks again and again. The next Lock or TryLock on a handle with the same options then
// sends nothing, and takes a microsecond or two. The hold has a context and a fencing token of its own, as ever.
//
// The lock is busy for others meanwhile, although nobody holds it. What they notice:
//
//   - Another process of this module that finds it busy has the store tell this one, which then releases it at once, or
//     with the next unlock that nobody here waits for. Its Lock takes two round trips longer than of a free lock. Its
//     TryLock waits for as long, and asks once more, before it returns ErrBusy.
//   - Others (Redisson, an older version, a process whose message is lost) find it free after a second at the latest: a
//     kept lock is released a second after it was acquired, however often it was used.
//   - A name that others ask for is not kept for a while: 100 ms at first, up to 30 s if they come again.
//
// A process that dies, or cannot reach the store, leaves the lock to its lease, even though its work was done: choose a
// short Lease beside Keep. A client keeps 1,024 locks at most, and releases the longest unused first; Close releases
// all. That a kept lock is lost while nobody holds it is told to nobody.
//
// d must be at least 1 ms, and at most a second and the lease. Keep cannot be combined with
// FixedLease, MinHold or MaxHold. Only the reentrant lock has it. In a set of package multilock it has no effect.
func Keep(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "Keep", &o.Keep, d, time.Millisecond) }
}

// Yields lets the holder learn that others wait: see Lock.Wanted. Only the reentrant lock has it. In a set of package
// multilock it has no effect.
func Yields() Option { return func(o *handle.Options) { o.Yields = true } }
