package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/rlock"
)

// limit bounds every wait for something that must happen. Nothing is measured against it.
const limit = time.Minute

const (
	// calm is the lease of a case that is not about leases: none ends because the machine is busy.
	calm = time.Minute
	// brief is the lease of a case that waits for leases: long enough to be renewed on a busy machine.
	brief = 2 * time.Second
)

// Lock is the subject of the suite: a lock, and what is known of a hold without asking the store.
type Lock interface {
	rlock.Locker
	Held(ctx context.Context) (rlock.Hold, error)
}

// Lacks says what a kind of lock cannot do; the suite skips the cases that need it.
type Lacks uint

const (
	// Reentry: a Lock with the context of a live hold waits like any other.
	Reentry Lacks = 1 << iota
	// Fencing: holds have no tokens of their own (readers, permits).
	Fencing
	// Knowledge: Held returns nothing useful.
	Knowledge
	// Tries: TryLock may be busy although nobody holds the lock (a fair lock whose queue is not empty).
	Tries
	// Options: MinHold, Grace and NonReentrant have no effect, and are not refused.
	Options
	// Exclusion: holds of client 0 do not exclude one another (readers); client 1 excludes all of them.
	Exclusion
	// Moves: Export refuses holds.
	Moves
)

// Lab is what one case uses.
type Lab struct {
	// Lock makes a handle on the lock of that name. Client is 0 or 1.
	Lock func(client int, name string, opts ...rlock.Option) Lock
	// Close closes a client. The lab closes both at the end of the test in any case.
	Close func(client int) error
	// Sent counts what the clients have sent so far, in any unit.
	Sent func() int64
	// Lease is the lease of both clients, as the case requested.
	Lease time.Duration
	Lacks Lacks
}

type contract struct {
	name  string
	needs Lacks
	check func(t *testing.T, lab Lab)
}

// Run checks the whole contract except what the lock lacks. Open makes a lab whose clients have that lease.
func Run(t *testing.T, open func(t testing.TB, lease time.Duration) Lab) {
	run(t, open, func(t *testing.T, check func(t *testing.T)) { check(t) })
}

// RunVirtually is Run for a store in memory: each case has a bubble of testing/synctest, so that no time passes.
func RunVirtually(t *testing.T, open func(t testing.TB, lease time.Duration) Lab) {
	run(t, open, synctest.Test)
}

func run(
	t *testing.T, open func(t testing.TB, lease time.Duration) Lab, in func(*testing.T, func(*testing.T)),
) {
	for _, part := range []struct {
		lease     time.Duration
		contracts []contract
	}{
		{calm, exclusion}, {calm, levels}, {calm, contexts}, {calm, calls}, {brief, periods}, {calm, closing},
	} {
		for _, c := range part.contracts {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				in(t, func(t *testing.T) {
					if lab := open(t, part.lease); lab.Lacks&c.needs == 0 {
						c.check(t, lab)
					}
				})
			})
		}
	}
}

// name returns a lock's name that no other case of any run has.
func name(t *testing.T) string { return unique(t.Name()) }

// within returns a context for a call that must succeed, so that a hang becomes a failure.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// take locks, and fails the test if Lock fails.
func take(t *testing.T, ctx context.Context, l rlock.Locker) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, held.Err())
	return held, unlock
}

// busy asserts that the lock is held by a hold that a fresh context does not carry.
func busy(t *testing.T, l rlock.Locker, why string) {
	t.Helper()
	ctx := within(t)
	same, unlock, err := l.TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrBusy, why)
	refused(t, ctx, same, unlock)
}

// free asserts that a fresh context can take the lock at once.
func free(t *testing.T, l rlock.Locker) {
	t.Helper()
	_, unlock, err := l.TryLock(within(t))
	require.NoError(t, err, "the lock should be free")
	require.NoError(t, unlock())
}

// soonFree asserts that the lock becomes free. A wait that ended may have had an attempt under way, which
// holds the lock until it has given it back.
func soonFree(t *testing.T, l rlock.Locker) {
	t.Helper()
	_, unlock := take(t, within(t), l)
	require.NoError(t, unlock())
}

// answered makes a wait end after d, and repeats it with twice that while it ended before Redis had answered
// at all: that is ErrUnavailable, as it should be, and no case is about it.
func answered(wait func(d time.Duration) error) error {
	for d := 100 * time.Millisecond; ; d *= 2 {
		if err := wait(d); !errors.Is(err, rlock.ErrUnavailable) || d > limit {
			return err
		}
	}
}

// sendsNothing asserts that do sends nothing. Other traffic (a renewal, the rest of an earlier call) is
// excluded by repeating do until that traffic has stopped.
func sendsNothing(t *testing.T, lab Lab, do func(), why string) {
	t.Helper()
	var sent int64
	for range 40 {
		before := lab.Sent()
		do()
		if sent = lab.Sent() - before; sent == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%d was sent: %s", sent, why)
}

// refused asserts what comes with every error: the context that was given, and an unlock that is safe to call
// and changes nothing.
func refused(t *testing.T, given, got context.Context, unlock func() error) {
	t.Helper()
	require.True(t, given == got, "an error returns the context that was given")
	require.True(t, unlock != nil, "an error returns an unlock")
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
}

// only asserts that err matches want and nothing else of the vocabulary.
func only(t *testing.T, err, want error) {
	t.Helper()
	for _, word := range []error{
		rlock.ErrBusy, rlock.ErrNotHeld, rlock.ErrLost, rlock.ErrReleased, rlock.ErrClosed,
		rlock.ErrUnavailable, rlock.ErrUnconfirmed, rlock.ErrKeyConflict,
	} {
		if word == want {
			require.ErrorIs(t, err, word)
		} else {
			require.NotErrorIs(t, err, word)
		}
	}
}

// ended waits for a context's end and returns its cause.
func ended(t *testing.T, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(limit):
		t.Fatal("the context should have ended")
	}
	return context.Cause(ctx)
}

// await receives what a goroutine sends.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(limit):
		t.Fatalf("not within %v: %s", limit, what)
		panic("unreachable")
	}
}
