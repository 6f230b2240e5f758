package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

var contexts = []contract{
	{"AContextThatIsOverIsAnsweredWithItsCause", 0, overBefore},
	{"AWaitThatItsContextEnds", Exclusion, endedWait},
	{"AWaitThatMaxWaitEnds", Exclusion, endedByMaxWait},
	{"TheReturnedContextIsAChild", 0, isAChild},
	{"UnlockEndsTheContextWithErrReleased", 0, endsWithReleased},
	{"HeldKnowsTheHoldThatTheContextCarries", Knowledge, heldKnows},
}

var errReason = errors.New("the caller's reason")

// Nothing is sent, even for a lock that ctx carries.
func overBefore(t *testing.T, lab Lab) {
	l := lab.Lock(0, name(t))
	free(t, l) // connections are made, what the client does once is done
	parent, cancel := context.WithCancelCause(within(t))
	cancel(errReason)
	expired, stop := context.WithDeadline(within(t), time.Unix(0, 0))
	defer stop()
	for _, c := range []struct {
		ctx    context.Context
		causes []error
	}{
		{parent, []error{errReason, context.Canceled}},
		{expired, []error{context.DeadlineExceeded}},
	} {
		sendsNothing(t, lab, func() {
			for _, try := range []func(context.Context) (context.Context, func() error, error){
				l.Lock, l.TryLock,
			} {
				same, unlock, err := try(c.ctx)
				for _, cause := range c.causes {
					require.ErrorIs(t, err, cause)
				}
				only(t, err, nil)
				refused(t, c.ctx, same, unlock)
			}
			err := l.Do(c.ctx, func(context.Context) error {
				t.Error("the function was called without the lock")
				return nil
			})
			require.ErrorIs(t, err, c.causes[0])
		}, "for a context that is over")
	}
}

// The wait ends with the context, wherever the waiter is: behind its own client, or at the head of its queue, waiting
// for another client.
func endedWait(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	for client := range 2 {
		l := lab.Lock(client, n)
		err := Answered(func(d time.Duration) error {
			late, stop := context.WithTimeout(within(t), d)
			defer stop()
			same, nothing, err := l.Lock(late)
			refused(t, late, same, nothing)
			return err
		})
		only(t, err, lock.ErrBusy)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		err = Answered(func(d time.Duration) error {
			ctx, cancel := context.WithCancelCause(within(t))
			timer := time.AfterFunc(d, func() { cancel(errReason) })
			defer timer.Stop()
			same, nothing, err := l.Lock(ctx)
			refused(t, ctx, same, nothing)
			return err
		})
		only(t, err, lock.ErrBusy)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errReason)
	}
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// A wait that MaxWait ended does not match a context's error.
func endedByMaxWait(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	for client := range 2 {
		err := Answered(func(d time.Duration) error {
			ctx := within(t)
			same, nothing, err := lab.Lock(client, n, lock.MaxWait(d)).Lock(ctx)
			refused(t, ctx, same, nothing)
			return err
		})
		only(t, err, lock.ErrBusy)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	}
	require.NoError(t, unlock())
	held, unlock := take(t, within(t), lab.Lock(1, n, lock.MaxWait(limit)))
	far, _ := held.Deadline()
	require.Greater(t, time.Until(far), time.Duration(0))
	require.NoError(t, held.Err(), "MaxWait limits the wait and not the work")
	require.NoError(t, unlock())
}

type key struct{}

func isAChild(t *testing.T, lab Lab) {
	deadline := time.Now().Add(limit)
	parent, stop := context.WithDeadline(context.WithValue(context.Background(), key{}, "v"), deadline)
	defer stop()
	ctx, cancel := context.WithCancelCause(parent)
	held, unlock := take(t, ctx, lab.Lock(0, name(t)))
	require.Equal(t, "v", held.Value(key{}))
	got, ok := held.Deadline()
	require.True(t, ok)
	require.True(t, deadline.Equal(got))
	require.NoError(t, context.Cause(held))
	cancel(errReason)
	require.ErrorIs(t, ended(t, held), errReason)
	require.ErrorIs(t, held.Err(), context.Canceled)
	require.NoError(t, unlock())
	require.ErrorIs(t, context.Cause(held), errReason, "the first cause stays")
}

func endsWithReleased(t *testing.T, lab Lab) {
	ctx := within(t)
	held, unlock := take(t, ctx, lab.Lock(0, name(t)))
	child, cancel := context.WithCancel(held)
	defer cancel()
	require.NoError(t, unlock())
	require.ErrorIs(t, context.Cause(held), lock.ErrReleased, "it is over when unlock returns")
	require.ErrorIs(t, ended(t, child), lock.ErrReleased)
	require.ErrorIs(t, held.Err(), context.Canceled)
	require.NoError(t, ctx.Err(), "the outer context goes on")
}

func heldKnows(t *testing.T, lab Lab) {
	n := name(t)
	l, other := lab.Lock(0, n), lab.Lock(0, name(t))
	ctx := within(t)
	_, err := l.Held(ctx)
	only(t, err, lock.ErrNotHeld)
	held, unlock := take(t, ctx, l)
	sendsNothing(t, lab, func() {
		hold, err := lab.Lock(0, n).Held(held)
		require.NoError(t, err)
		require.NotEmpty(t, hold.ID)
		require.Equal(t, 1, hold.Count)
		require.True(t, hold.ValidUntil.After(time.Now()))
		require.True(t, hold.ValidUntil.Before(time.Now().Add(lab.Lease)))
		_, err = other.Held(held)
		only(t, err, lock.ErrNotHeld)
		_, err = lab.Lock(1, n).Held(held)
		only(t, err, lock.ErrNotHeld)
	}, "Held asks nobody")
	require.NoError(t, unlock())
	_, err = l.Held(held)
	only(t, err, lock.ErrNotHeld)
}
