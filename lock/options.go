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
// nobody's. If that clock is set back meanwhile, it is d from the unlock. Until that is over the lock is busy for
// everybody, callers of this process included: it is not passed on to them, and Close does not free it. Only Break
// does.
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

// Grace ends a hold d before its validity ends, while renewals fail: work that takes up to d to stop has then stopped
// before another caller can have the lock. Without it a hold ends with its validity, and the store may grant the lock
// to another caller a moment later.
//
// A renewal that is confirmed before that instant puts it off. At that instant the hold is lost, although it is valid
// for d more: the cause of its contexts, and the error of unlock, is a *LostError with LossExpired, whose Err says
// that Grace began and how the last renewal failed. No renewal revives the hold. Hold.ValidUntil is the end of the
// validity as ever. Until then no other caller gets the lock, even if unlock is called earlier; then it is released in
// the background. If the store says that the hold is gone, if MaxHold elapses, or if the client is closed, the hold
// ends at once, without Grace.
//
// With FixedLease, which is not renewed, the hold always ends d before its validity. Each hold ends by the Grace of
// its own handle, also a turn that was passed on in memory and a reader that joined others. A nested Lock leaves that
// of the outermost one as it is. d must be at least 1 ms, and at most half of the lease: a renewal is due after a
// third of it.
func Grace(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "Grace", &o.Grace, d, time.Millisecond) }
}

// NonReentrant makes it an error to take the lock with a context that carries a hold of it already, whichever handle
// took that hold, and whichever side of a read-write lock it is of. The call returns a *ReentryError at once, and
// sends nothing.
//
// Without it such a call re-enters. Where that is a mistake it goes unseen: goroutines that are given the context of a
// hold do not exclude one another. Work that must queue like any other caller is given WithoutHolds(ctx).
//
// It concerns the calls of this handle: Lock, TryLock, Do and Import, and those of a set of package multilock that has
// the handle as a member, or was given the option. Other handles of the same lock enter as ever. A context that is
// over, and a hold that was lost, are told first, as ever. Permits are never re-entered: with the option, an Acquire
// inside of an Acquire is an error and does not wait for more permits.
//
// The error tells where the hold was taken, if that was by a handle with NonReentrant. To know it, each call of such a
// handle looks at its stack, which takes a microsecond or two.
func NonReentrant() Option {
	return func(o *handle.Options) { o.Refuses = true }
}

// Keep leaves the lock with this process for d after its last unlock, at most, if no other caller of the process waits:
// for a name that one process locks again and again. The next Lock or TryLock on a handle with the same options then
// sends nothing, and takes a microsecond or two. The hold has a context and a fencing token of its own, as ever.
//
// That is so for 100 ms after the request by whose answer the store last said that this process has the lock. Where
// calls come more often than every 50 ms, the client asks again in the background, and none of them waits. A call that
// comes later asks first, which takes one round trip, and acquires the lock if it is not this process's any more. So
// does the call after a name's first hold, which has a fencing token without others beside it.
//
// The lock is busy for others meanwhile, although nobody holds it. What they notice:
//
//   - Another process of this module that finds it busy has the store tell this one, which then releases it at once, or
//     with the next unlock that nobody here waits for. Its Lock takes two round trips longer than of a free lock. Its
//     TryLock waits for as long, and asks once more, before it returns ErrBusy.
//   - Others (Redisson, an older version, a process whose message is lost) find it free after a second: a kept lock is
//     released a second after it was acquired, or with the unlock after that, however often it is used. A Lock of this
//     process then waits for 30 to 50 ms before it asks again. A client that polls every 10 ms finds the lock free in
//     that time, one that polls every 100 ms in four times of ten. A TryLock of this process does not wait.
//   - A name that others ask for is not kept for a while: 100 ms at first, up to 30 s if they come again. After this
//     process found that a client had it which does not ask, it is not kept for 10 s.
//
// With d of a millisecond, Keep is for names that are locked once: unlock returns without a round trip, and the release
// follows in the background. Others who come in that millisecond wait for its end.
//
// A process that dies, or cannot reach the store, leaves the lock to its lease, even though its work was done: choose a
// short Lease with Keep. A client keeps ClientOptions.MaxKept locks at most, and releases the longest unused first;
// Close releases all. If a kept lock is lost while nobody holds it, no observer is told.
//
// A kept lock may be taken away unheard, if its key is deleted or the store loses its data. Then another client may
// get the lock, and for those 100 ms a hold can still begin here beside it. If the lock had been unused for more than
// 10 ms, that hold is lost a round trip later, and otherwise with its next renewal, as any other. Its fencing token is
// the lower one of the two.
//
// d must be at least 1 ms, and at most a second and the lease. Keep cannot be combined with FixedLease, MinHold or
// MaxHold. Only the reentrant lock of package rlock has it. In a set of package multilock it has no effect.
func Keep(d time.Duration) Option {
	return func(o *handle.Options) { set(o, "Keep", &o.Keep, d, time.Millisecond) }
}

// Yields lets the holder learn that others wait: see Lock.Wanted. Only the reentrant lock of package rlock has it. In a
// set of package multilock it has no effect.
func Yields() Option { return func(o *handle.Options) { o.Yields = true } }
