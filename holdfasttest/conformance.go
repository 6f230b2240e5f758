package holdfasttest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/lock"
)

// Locker is what the conformance suite checks: a lock, and what its process knows of a hold without asking the store.
type Locker interface {
	lock.Locker
	Held(ctx context.Context) (lock.Hold, error)
}

// Limits is how a case wants a lock to be limited. Zero means not at all.
type Limits struct {
	FixedLease time.Duration // as lock.FixedLease: the hold is not renewed
	MaxWait    time.Duration // as lock.MaxWait
	MaxHold    time.Duration // as lock.MaxHold
}

// Options are the limits as options of a lock of this module.
func (l Limits) Options() []lock.Option {
	var opts []lock.Option
	if l.FixedLease > 0 {
		opts = append(opts, lock.FixedLease(l.FixedLease))
	}
	if l.MaxWait > 0 {
		opts = append(opts, lock.MaxWait(l.MaxWait))
	}
	if l.MaxHold > 0 {
		opts = append(opts, lock.MaxHold(l.MaxHold))
	}
	return opts
}

// Lacks says what a lock cannot do. The suite skips the cases that need it.
type Lacks uint

// What a lock may lack.
const (
	// LacksReentry: a Lock with the context of a live hold waits like any other.
	LacksReentry = Lacks(conformance.Reentry)
	// LacksFencing: holds have no tokens of their own.
	LacksFencing = Lacks(conformance.Fencing)
	// LacksHeld: Held returns nothing useful.
	LacksHeld = Lacks(conformance.Knowledge)
	// LacksTries: TryLock may be busy although nobody holds the lock.
	LacksTries = Lacks(conformance.Tries)
	// LacksExclusion: holds of process 0 do not exclude one another, as those of readers; process 1 excludes them all.
	LacksExclusion = Lacks(conformance.Exclusion)
)

// Subject is what one case of the suite uses: two processes that contend for locks in one store.
type Subject struct {
	// Lock makes a handle on the lock of a name, of process 0 or 1.
	Lock func(process int, name string, limits Limits) Locker
	// Close ends a process as the Close of a client does. Cases close a process once or twice, or not at all.
	Close func(process int) error
	// Sent counts what both processes have sent to the store so far, in any unit. Nil: nothing is counted, and calls
	// that have to send nothing are not found out if they do.
	Sent func() int64
	// Lacks is what the lock cannot do.
	Lacks Lacks
}

// Conformance checks that a lock keeps the contract of [lock.Locker], with all that go doc says of it: exclusion,
// levels, contexts, errors, renewals, limits, Close. Open makes a subject for one case, whose holds have that lease;
// cases run in parallel, so subjects share no process. It may register what ends with the test by t.Cleanup.
//
// It logs what the lock lacks, whose cases it did not run. A lock of this interface always lacks MinHold and other
// options besides its limits, Inspect, Export, sets of package multilock, the notes of package leader, and a path to
// its store that can fail.
func Conformance(t *testing.T, open func(t testing.TB, lease time.Duration) Subject) {
	conformance.Run(t, subjects(open))
}

// ConformanceInBubbles is [Conformance] for locks whose store is in memory: each case has a bubble of testing/synctest,
// so that it takes no time.
func ConformanceInBubbles(t *testing.T, open func(t testing.TB, lease time.Duration) Subject) {
	conformance.RunVirtually(t, subjects(open))
}

func subjects(
	open func(t testing.TB, lease time.Duration) Subject,
) func(t testing.TB, lease time.Duration) conformance.Lab {
	return func(t testing.TB, lease time.Duration) conformance.Lab {
		s := open(t, lease)
		sent := s.Sent
		if sent == nil {
			sent = func() int64 { return 0 }
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...lock.Option) conformance.Lock {
				o := handle.Collect(opts)
				return s.Lock(client, name, Limits{FixedLease: o.Lease, MaxWait: o.MaxWait, MaxHold: o.MaxHold})
			},
			Close: s.Close, Sent: sent, Lease: lease,
			Lacks: conformance.Lacks(s.Lacks) | conformance.Options | conformance.Moves | conformance.Sets |
				conformance.Notes | conformance.Faults | conformance.Listeners |
				conformance.Erasure | conformance.Keeping | conformance.Waiters,
		}
	}
}
