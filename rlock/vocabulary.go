package rlock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Locker is what every lock of this module does, in types of the standard library. See [lock.Locker].
type Locker = lock.Locker

// Provider makes handles on locks by their names: the client of any store. See [lock.Provider].
type Provider = lock.Provider

// Lock is a handle on a named lock. Its methods Lock, TryLock and Do take the lock; Held, Inspect, Break, Export and
// Import are the others. See [lock.Lock].
type Lock = lock.Lock

// Hold is what this process knows of a live hold, without asking Redis. See [lock.Hold].
type Hold = lock.Hold

// Info is what is known of a lock, and of its holders in every process. See [lock.Info].
type Info = lock.Info

// Holder is one hold as Redis shows it. See [lock.Holder].
type Holder = lock.Holder

// Waiter is one call that waits. See [lock.Waiter].
type Waiter = lock.Waiter

// Observer is a set of functions that are told what happens, for metrics and traces. See [lock.Observer].
type Observer = lock.Observer

// JoinObservers returns an Observer that calls the functions of all the given ones. See [lock.JoinObservers].
func JoinObservers(observers ...*Observer) *Observer { return lock.JoinObservers(observers...) }

// WorkError is the error of a Do that called its function. See [lock.WorkError].
type WorkError = lock.WorkError

// Join makes the error that Do returns of what the work returned and what unlock returned. See [lock.Join].
func Join(work, unlocked error) error { return lock.Join(work, unlocked) }

// Call is one call that acquires something, as an Observer is told of it. See [lock.Call].
type Call = lock.Call

// Command is one script that was sent, as an Observer is told of it. See [lock.Command].
type Command = lock.Command

// Renewal is one renewal of a lease, as an Observer is told of it. See [lock.Renewal].
type Renewal = lock.Renewal

// Stats is what a client does at this moment. See [lock.Stats].
type Stats = lock.Stats

// Option adjusts one handle. See [lock.Option].
type Option = lock.Option

// FixedLease turns the watchdog off: the hold is not renewed and ends after d. See [lock.FixedLease].
func FixedLease(d time.Duration) Option { return lock.FixedLease(d) }

// Lease is the lease of the hold, which is renewed, instead of the client's. See [lock.Lease].
func Lease(d time.Duration) Option { return lock.Lease(d) }

// MaxWait limits how long Lock waits, and nothing else. See [lock.MaxWait].
func MaxWait(d time.Duration) Option { return lock.MaxWait(d) }

// MaxHold ends a hold that is not unlocked after d, even though the watchdog could still renew it. See
// [lock.MaxHold].
func MaxHold(d time.Duration) Option { return lock.MaxHold(d) }

// MinHold retains the lock for d from its acquisition, however early the hold is unlocked. See [lock.MinHold].
func MinHold(d time.Duration) Option { return lock.MinHold(d) }

// Grace ends a hold d before its validity ends, while renewals fail. See [lock.Grace].
func Grace(d time.Duration) Option { return lock.Grace(d) }

// NonReentrant makes it an error to take the lock with a context that carries a hold of it already. See
// [lock.NonReentrant].
func NonReentrant() Option { return lock.NonReentrant() }

// Keep leaves the lock with this process for d after its last unlock, until others want it. See [lock.Keep].
func Keep(d time.Duration) Option { return lock.Keep(d) }

// Yields lets the holder learn that others wait. See [lock.Yields].
func Yields() Option { return lock.Yields() }

// WithoutHolds returns a child of ctx that carries no holds, for work that must queue like any other caller. See
// [lock.WithoutHolds].
func WithoutHolds(ctx context.Context) context.Context { return lock.WithoutHolds(ctx) }

// The errors of this module, documented in package lock. Match them with errors.Is.
var (
	// ErrBusy means that another holds the lock. See [lock.ErrBusy].
	ErrBusy = lock.ErrBusy
	// ErrNotHeld means that there is no hold to act on. See [lock.ErrNotHeld].
	ErrNotHeld = lock.ErrNotHeld
	// ErrLost means that the hold ended before its owner unlocked it. See [lock.ErrLost].
	ErrLost = lock.ErrLost
	// ErrUnconfirmed means that the hold is over here and its release is unconfirmed. See [lock.ErrUnconfirmed].
	ErrUnconfirmed = lock.ErrUnconfirmed
	// ErrReleased is the cause with which a hold's context ends after unlock. See [lock.ErrReleased].
	ErrReleased = lock.ErrReleased
	// ErrClosed means that the Client is closed. See [lock.ErrClosed].
	ErrClosed = lock.ErrClosed
	// ErrExported is what Observer.Ended is told of a hold that moved to another process. See [lock.ErrExported].
	ErrExported = lock.ErrExported
	// ErrUnavailable means that Redis did not answer, or answered with an error. See [lock.ErrUnavailable].
	ErrUnavailable = lock.ErrUnavailable
	// ErrKeyConflict means that the lock's key holds something else. See [lock.ErrKeyConflict].
	ErrKeyConflict = lock.ErrKeyConflict
)

// LostError says which hold was lost, and why. It matches ErrLost. See [lock.LostError].
type LostError = lock.LostError

// ReleaseError says that a hold was valid to its end and that Redis has not confirmed its release. It matches
// ErrUnconfirmed. See [lock.ReleaseError].
type ReleaseError = lock.ReleaseError

// ReentryError says that the context of a call carries a hold of the lock already, and the handle is NonReentrant. See
// [lock.ReentryError].
type ReentryError = lock.ReentryError

// ArgumentError reports an invalid value, before anything is sent. See [lock.ArgumentError].
type ArgumentError = lock.ArgumentError

// LossReason says how a hold was lost. See [lock.LossReason].
type LossReason = lock.LossReason

// The reasons of a loss. See [lock.LossReason].
const (
	// LossExpired: validity ended, or Grace before it, because no renewal was confirmed in time or the lease was fixed.
	LossExpired = lock.LossExpired
	// LossGone: Redis said that the hold no longer exists.
	LossGone = lock.LossGone
	// LossMaxHold: MaxHold elapsed before unlock.
	LossMaxHold = lock.LossMaxHold
)

// Kind is what a lock is. An Observer is told of each kind below, but of none of those that only operate.List
// tells. See [lock.Kind].
type Kind = lock.Kind

// The kinds of locks. See [lock.Kind].
const (
	KindLock      = lock.KindLock
	KindRead      = lock.KindRead
	KindWrite     = lock.KindWrite
	KindFair      = lock.KindFair
	KindSemaphore = lock.KindSemaphore
	KindCounting  = lock.KindCounting
	KindLatch     = lock.KindLatch
	KindMultilock = lock.KindMultilock
	KindRedlock   = lock.KindRedlock
	KindReadWrite = lock.KindReadWrite
	KindNumber    = lock.KindNumber
	KindUnknown   = lock.KindUnknown
)

// Entry is one lock that operate.List tells, held by whomever. See [lock.Entry].
type Entry = lock.Entry

// Leak is a key that should expire and never will. See [lock.Leak].
type Leak = lock.Leak

// Finding is one thing that operate.Check looked at. See [lock.Finding].
type Finding = lock.Finding

// Level is how bad a Finding is. See [lock.Level].
type Level = lock.Level

// The levels of findings. See [lock.Level].
const (
	LevelOK      = lock.LevelOK
	LevelWarning = lock.LevelWarning
	LevelFailure = lock.LevelFailure
)

// Outcome is how a call or a hold ended, in a word that is fit for a label. See [lock.Outcome].
type Outcome = lock.Outcome

// The outcomes of calls and holds. See [lock.Outcome].
const (
	OutcomeHeld        = lock.OutcomeHeld
	OutcomeBusy        = lock.OutcomeBusy
	OutcomeCancelled   = lock.OutcomeCancelled
	OutcomeUnavailable = lock.OutcomeUnavailable
	OutcomeConflict    = lock.OutcomeConflict
	OutcomeClosed      = lock.OutcomeClosed
	OutcomeError       = lock.OutcomeError
	OutcomeReleased    = lock.OutcomeReleased
	OutcomeExported    = lock.OutcomeExported
	OutcomeLost        = lock.OutcomeLost
	OutcomeUnconfirmed = lock.OutcomeUnconfirmed
)

// OutcomeOf is how a call ended that returned err. See [lock.OutcomeOf].
func OutcomeOf(err error) Outcome { return lock.OutcomeOf(err) }

// OutcomeOfHold is how a hold ended with err, which Observer.Ended was told. See [lock.OutcomeOfHold].
func OutcomeOfHold(err error) Outcome { return lock.OutcomeOfHold(err) }

// ReasonOf says why a renewal or a command failed, in a word that is fit for a label. See [lock.ReasonOf].
func ReasonOf(err error) string { return lock.ReasonOf(err) }
