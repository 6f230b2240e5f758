package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
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
	lock.Locker
	Held(ctx context.Context) (lock.Hold, error)
}

// Lab is what one case uses.
type Lab struct {
	// Lock makes a handle on the lock of that name. Client is 0 or 1.
	Lock func(client int, name string, opts ...lock.Option) Lock
	// Close closes a client. The lab closes both at the end of the test in any case.
	Close func(client int) error
	// Sent counts what the clients have sent so far, in any unit.
	Sent func() int64
	// Path is a client's way to its servers, on which cases cause faults. Nil if the lab lacks Faults.
	Path func(client int) *netfault.Path
	// Listener is what a client's observer and logger tell. Nil if the lab lacks Listeners, as Stats.
	Listener func(client int) *Listener
	// Stats is what a client does at this moment.
	Stats func(client int) lock.Stats
	// Erase takes away what the store has of the lock of that name, whoever holds it, and tells nobody. Nil if the lab
	// lacks Erasure.
	Erase func(name string)
	// Rivals make handles on other kinds of locks that are at the same name then, by their kinds.
	Rivals map[string]func(client int, name string) Lock
	// Lease is the lease of both clients: the one that the case requested, or the next that the store keeps.
	Lease  time.Duration
	Leases Leases
	Lacks  Lacks
}

type contract struct {
	name  string
	needs Lacks
	check func(t *testing.T, lab Lab)
}

// Run checks the whole contract except what the lock lacks, which it logs. Open makes a lab whose clients have that
// lease, or the next longer one that the store keeps: see [Leases.Fit].
func Run(t *testing.T, open func(t testing.TB, lease time.Duration) Lab) {
	run(t, open, func(t *testing.T, check func(t *testing.T)) { check(t) }, slices.Concat(parts, inMemory))
}

// RunPath is Run without what a client decides in its memory, whatever leads to the store. It is for other ways to a
// store of which all is asked elsewhere.
func RunPath(t *testing.T, open func(t testing.TB, lease time.Duration) Lab) {
	run(t, open, func(t *testing.T, check func(t *testing.T)) { check(t) }, parts)
}

// RunVirtually is Run for a store in memory: each case has a bubble of testing/synctest, so that no time passes.
func RunVirtually(t *testing.T, open func(t testing.TB, lease time.Duration) Lab) {
	run(t, open, synctest.Test, slices.Concat(parts, inMemory))
}

// part is contracts that are asked of clients with a lease.
type part struct {
	lease     time.Duration
	contracts []contract
}

var (
	parts = []part{
		{calm, exclusion}, {calm, levels}, {calm, contexts}, {calm, calls}, {brief, periods}, {calm, closing},
		{calm, several}, {calm, refusals}, {calm, together}, {wary, faults}, {wary, connections}, {calm, forgotten},
		{steady, remembered}, {calm, never}, {wary, learned}, {wary, late},
	}
	inMemory = []part{{calm, callbacks}, {calm, cached}, {calm, duties}, {calm, memory}}
)

func run(
	t *testing.T, open func(t testing.TB, lease time.Duration) Lab, in func(*testing.T, func(*testing.T)), all []part,
) {
	var found limits
	t.Cleanup(func() { found.tell(t) }) // after all cases, which run in parallel
	for _, part := range all {
		for _, c := range part.contracts {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				in(t, func(t *testing.T) {
					lab := open(t, part.lease)
					found.add(lab)
					require.Equal(t, lab.Leases.Fit(part.lease), lab.Lease, "the lease of the lab")
					if lab.Lacks&c.needs == 0 {
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
func take(t *testing.T, ctx context.Context, l lock.Locker) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, held.Err())
	return held, unlock
}

// busy asserts that the lock is held by a hold that a fresh context does not carry.
func busy(t *testing.T, l lock.Locker, why string) {
	t.Helper()
	ctx := within(t)
	same, unlock, err := l.TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrBusy, why)
	refused(t, ctx, same, unlock)
}

// free asserts that a fresh context can take the lock at once.
func free(t *testing.T, l lock.Locker) {
	t.Helper()
	_, unlock, err := l.TryLock(within(t))
	require.NoError(t, err, "the lock should be free")
	require.NoError(t, unlock())
}

// soonFree asserts that the lock becomes free. A wait that ended may have had an attempt under way, which
// holds the lock until it has given it back.
func soonFree(t *testing.T, l lock.Locker) {
	t.Helper()
	_, unlock := take(t, within(t), l)
	require.NoError(t, unlock())
}

// Answered makes a wait end after d, and repeats it with twice that while it ended before the store had answered
// at all: that is ErrUnavailable, as it should be, and no case is about it.
func Answered(wait func(d time.Duration) error) error {
	for d := 100 * time.Millisecond; ; d *= 2 {
		if err := wait(d); !errors.Is(err, lock.ErrUnavailable) || d > limit {
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
	require.ErrorIs(t, unlock(), lock.ErrNotHeld)
}

// only asserts that err matches want and nothing else of the vocabulary.
func only(t *testing.T, err, want error) {
	t.Helper()
	for _, word := range []error{
		lock.ErrBusy, lock.ErrNotHeld, lock.ErrLost, lock.ErrReleased, lock.ErrClosed,
		lock.ErrUnavailable, lock.ErrUnconfirmed, lock.ErrKeyConflict,
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
