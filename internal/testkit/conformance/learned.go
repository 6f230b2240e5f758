package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

// learned are the cases of what a process was told once, and what is not true any more: somebody has taken the lock
// away from it behind its back. It asks before it relies on that again.
var learned = []contract{
	{"AHoldThatWasTakenAwayIsLost", Erasure | Exclusion, takenAwayIsLost},
	{"AnExportedHoldThatWasTakenAwayIsNotImported", Erasure | Exclusion | Moves, takenAwayIsNotImported},
	{"AHoldThatWasTakenAwayIsNotExported", Erasure | Exclusion | Moves, takenAwayIsNotExported},
	{"AKeptLockThatWasTakenAwayIsNotEntered", Erasure | Keeping | Listeners, keptIsNotEntered},
	{"AKeptLockThatWasBrokenIsNotEntered", Keeping | Listeners, brokenIsNotEntered},
}

// cached are the cases of what was learned long ago, for the lease of a client that has not asked since.
var cached = []contract{
	{"AFixedLeaseBeginsWithItsHold", Options, fixedLeaseBegins},
}

// late are the cases of answers that come late.
var late = []contract{
	{"AGrantThatIsWonEndsTheOtherHoldOfItsProcess", Erasure | Exclusion | Faults, endsTheOther},
}

// The holder learns of it by its next renewal, and what it sends then leaves the new holder alone.
func takenAwayIsLost(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	lab.Erase(n)
	next, free := take(t, within(t), lab.Lock(1, n))
	loss(t, ended(t, held), lock.LossGone)
	loss(t, unlock(), lock.LossGone)
	busy(t, lab.Lock(0, n), "another holds it")
	require.NoError(t, next.Err())
	require.NoError(t, free())
	soonFree(t, lab.Lock(0, n))
}

func takenAwayIsNotImported(t *testing.T, lab Lab) {
	for _, taken := range []bool{false, true} {
		n := name(t)
		l := lab.Lock(0, n)
		held, _ := take(t, within(t), l)
		token, err := l.(mover).Export(held)
		require.NoError(t, err)
		lab.Erase(n)
		free := func() error { return nil }
		if taken {
			_, free = take(t, within(t), lab.Lock(1, n))
		}
		ctx := within(t)
		same, nothing, err := lab.Lock(0, n).(mover).Import(ctx, token)
		only(t, err, lock.ErrNotHeld)
		refused(t, ctx, same, nothing)
		if taken {
			busy(t, lab.Lock(0, n), "another holds it")
		}
		require.NoError(t, free())
		soonFree(t, lab.Lock(0, n))
	}
}

func takenAwayIsNotExported(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	held, _ := take(t, within(t), l)
	lab.Erase(n)
	_, free := take(t, within(t), lab.Lock(1, n))
	_, err := l.(mover).Export(held)
	require.ErrorIs(t, err, lock.ErrLost)
	require.True(t, held.Err() != nil, "it is over")
	busy(t, lab.Lock(0, n), "another holds it")
	require.NoError(t, free())
	soonFree(t, lab.Lock(0, n))
}

// A fixed lease is shorter than what has passed since the client asked last, and not than its lease.
func fixedLeaseBegins(t *testing.T, lab Lab) {
	n, fixed := name(t), lab.Leases.Fit(3*time.Second)
	opts := []lock.Option{lock.FixedLease(fixed), lock.Grace(fixed / 2)}
	held, unlock := take(t, within(t), lab.Lock(0, n, opts...))
	require.ErrorIs(t, ended(t, held), lock.ErrLost)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	soonFree(t, lab.Lock(1, n))
	_, unlock, err := lab.Lock(0, name(t), opts...).TryLock(within(t))
	require.NoError(t, err)
	require.NoError(t, unlock())
}

// keptFor is the longest time for which a lock is kept.
const keptFor = time.Second

// keep has client 0 keep a lock that nobody holds. It reports false if the machine was too busy for that.
func keep(t *testing.T, lab Lab, n string) bool {
	t.Helper()
	for range 2 { // after a name's first hold the next call asks for tokens, and spare ones come with time
		time.Sleep(10 * time.Millisecond)
		_, unlock := take(t, within(t), lab.Lock(0, n, lock.Keep(keptFor)))
		require.NoError(t, unlock())
	}
	return lab.Stats(0).Kept == 1
}

// kept repeats what a case does with a lock that is kept until the machine was not too busy for it.
func kept(t *testing.T, lab Lab, do func(n string) (done bool)) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		n := name(t)
		if keep(t, lab, n) && do(n) {
			return
		}
		require.True(t, time.Now().Before(end), "no lock is kept for long enough")
	}
}

// Nobody hears of a key that is deleted. A call that comes later than the documented time asks, and is told.
func keptIsNotEntered(t *testing.T, lab Lab) {
	for what, enter := range map[string]func(n string) error{
		"TryLock": func(n string) error {
			_, _, err := lab.Lock(0, n, lock.Keep(keptFor)).TryLock(within(t))
			return err
		},
		"Lock": func(n string) error {
			return Answered(func(d time.Duration) error {
				_, _, err := lab.Lock(0, n, lock.Keep(keptFor), lock.MaxWait(d)).Lock(within(t))
				return err
			})
		},
		"without Keep": func(n string) error {
			_, _, err := lab.Lock(0, n).TryLock(within(t))
			return err
		},
	} {
		kept(t, lab, func(n string) bool {
			lab.Erase(n)
			next, free := take(t, within(t), lab.Lock(1, n))
			time.Sleep(engine.SureFor + time.Millisecond)
			if lab.Stats(0).Kept == 0 {
				require.NoError(t, free())
				return false // it was not idle any more
			}
			err := enter(n)
			require.True(t, err != nil, "%s began a hold beside another one", what)
			only(t, err, lock.ErrBusy)
			require.NoError(t, next.Err())
			require.NoError(t, free())
			soonFree(t, lab.Lock(0, n))
			return true
		})
	}
}

// A break is told to the keeper, as to any holder, and does not have to be found out.
func brokenIsNotEntered(t *testing.T, lab Lab) {
	kept(t, lab, func(n string) bool {
		b, breaks := lab.Lock(1, n).(interface{ Break(context.Context) error })
		require.True(t, breaks, "a lock that can be kept can be broken")
		require.NoError(t, b.Break(within(t)))
		next, free := take(t, within(t), lab.Lock(1, n))
		time.Sleep(engine.SureFor + time.Millisecond)
		_, _, err := lab.Lock(0, n, lock.Keep(keptFor)).TryLock(within(t))
		only(t, err, lock.ErrBusy)
		require.NoError(t, next.Err())
		require.NoError(t, free())
		soonFree(t, lab.Lock(0, n))
		return true
	})
}

// turn is what a call returned.
type turn struct {
	held   context.Context
	unlock func() error
	err    error
}

// Two calls of a process ask at the same time. The store grants the lock to one, somebody takes it away, and the store
// grants it to the other: neither call knows of the other's grant, as the answers are under way. The grant that comes
// last ends the other hold before its call returns.
func endsTheOther(t *testing.T, lab Lab) {
	free(t, lab.Lock(0, name(t))) // connections are made
	for end := time.Now().Add(limit); !bothAreGranted(t, lab); {
		require.True(t, time.Now().Before(end), "two calls are not granted the lock at the same time")
	}
}

func bothAreGranted(t *testing.T, lab Lab) bool {
	n, path := name(t), lab.Path(0)
	looks, can := lab.Lock(1, n).(inspector)
	require.True(t, can, "who can be taken away can be looked at")
	path.Slow(lab.Lease / 20)
	turns := make(chan turn, 2)
	for range 2 {
		l := lab.Lock(0, n)
		go func() {
			held, unlock, err := l.TryLock(within(t))
			turns <- turn{held, unlock, err}
		}()
		require.Eventually(t, func() bool {
			info, err := looks.Inspect(within(t))
			require.NoError(t, err)
			return info.Held > 0 || len(turns) > 0
		}, limit, time.Millisecond, "the store grants nothing")
		lab.Erase(n)
	}
	one, other := await(t, turns, "a call returns"), await(t, turns, "the other call returns")
	granted := one.err == nil && other.err == nil
	if granted {
		require.True(t, one.held.Err() != nil || other.held.Err() != nil, "two holds of one process are live")
	}
	path.Slow(0)
	_, _ = one.unlock(), other.unlock()
	soonFree(t, lab.Lock(0, n))
	soonFree(t, lab.Lock(1, n))
	return granted
}
