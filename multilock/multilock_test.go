package multilock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// All names are held, by one script, or none is; each has a token of its own, and can be locked again
// inside, and only there.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, c, rival := within(t), clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	all := locks(c, n...)
	m := multilock.New(all)
	free(t, c, n...) // loads the scripts, and learns the server's clock
	before := server.Calls(t, "evalsha")
	held, unlock, err := m.Lock(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, server.Calls(t, "evalsha")-before, "one script takes all")

	holds, err := m.Held(held)
	require.NoError(t, err)
	for i, l := range all {
		h, err := l.Held(held)
		require.NoError(t, err)
		require.Equal(t, holds[i].ID, h.ID)
		require.Equal(t, holds[i].Fence, h.Fence)
		require.Positive(t, h.Fence)
		require.Equal(t, 1, h.Count)
		_, _, err = rlock.New(rival, n[i]).TryLock(ctx)
		require.ErrorIs(t, err, rlock.ErrBusy)
	}
	again, unlockAgain, err := all[1].Lock(held)
	require.NoError(t, err)
	h, err := all[1].Held(again)
	require.NoError(t, err)
	require.Equal(t, 2, h.Count)
	require.NoError(t, unlockAgain())

	before = server.Calls(t, "evalsha")
	require.NoError(t, unlock())
	require.EqualValues(t, 1, server.Calls(t, "evalsha")-before, "one script releases all")
	require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	_, err = m.Held(held)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	free(t, rival, n...)
	next, unlock, err := m.Lock(ctx)
	require.NoError(t, err)
	later, err := m.Held(next)
	require.NoError(t, err)
	for i := range later {
		require.Greater(t, later[i].Fence, holds[i].Fence)
	}
	require.NoError(t, unlock())
}

// A waiter holds nothing: the free names stay free for others.
func TestAWaiterHoldsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	ctx, c, rival := within(t), clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	busy := rlock.New(rival, n[1])
	_, unlockBusy, err := busy.Lock(ctx)
	require.NoError(t, err)
	m := multilock.New(locks(c, n...))
	_, _, err = m.TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorContains(t, err, n[1])

	entered := make(chan error, 1)
	go func() { entered <- m.Do(ctx, func(context.Context) error { return nil }) }()
	waits(t, rlock.New(c, n[1]))
	free(t, rival, n[0], n[2])
	select {
	case err := <-entered:
		t.Fatalf("it got in beside the holder: %v", err)
	default:
	}
	require.NoError(t, unlockBusy())
	require.NoError(t, <-entered)
	free(t, rival, n...)
}

// A name that the context holds already is counted, and stays held when the others are released.
func TestNamesThatAreHeldAlreadyAreCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	ctx, c, rival := within(t), clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	all := locks(c, n...)
	outer, unlockOuter, err := all[1].Lock(ctx)
	require.NoError(t, err)
	held, unlock, err := multilock.New(all).Lock(outer)
	require.NoError(t, err)
	for i, want := range []int{1, 2, 1} {
		h, err := all[i].Held(held)
		require.NoError(t, err)
		require.Equal(t, want, h.Count)
		redistest.Eventually(t, time.Minute, func() bool {
			info, err := all[i].Inspect(ctx)
			return err == nil && info.Holders[0].Count == want
		}, "the count follows")
	}
	require.NoError(t, unlock())
	free(t, rival, n[0], n[2])
	h, err := all[1].Held(outer)
	require.NoError(t, err)
	require.Equal(t, 1, h.Count)
	inside, unlock, err := multilock.New(all[1:2]).TryLock(outer)
	require.NoError(t, err)
	require.NoError(t, inside.Err())
	require.NoError(t, unlock())
	require.NoError(t, unlockOuter())
	free(t, rival, n...)
}

// need 16: the loss of one member ends the whole hold, tells which, and frees the rest at once.
func TestLossOfOneMemberEndsAll(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	opts := &rlock.ClientOptions{Lease: 900 * time.Millisecond}
	ctx, c, rival := within(t), clientAt(t, server.Addr(), opts), clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	for lost := range n {
		m := multilock.New(locks(c, n...))
		held, unlock, err := m.Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, server.Client(t).Del(ctx, n[lost]).Err())
		<-held.Done()
		var loss *rlock.LostError
		require.ErrorAs(t, context.Cause(held), &loss)
		require.Equal(t, n[lost], loss.Name)
		free(t, rival, n...)
		require.ErrorIs(t, unlock(), rlock.ErrLost)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
}

// bug 40: a call that its context or MaxWait ends, at any moment, leaves no member behind.
func TestACallThatEndsLeavesNoMember(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c, rival := clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 4)
	m := multilock.New(locks(c, n...))
	for i := range 150 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%30)*20*time.Microsecond)
		_, unlock, err := m.Lock(ctx)
		cancel()
		if err == nil {
			require.NoError(t, unlock())
			continue
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
	free(t, rival, n...)

	_, unlock, err := rlock.New(rival, n[2]).Lock(within(t))
	require.NoError(t, err)
	_, _, err = multilock.New(locks(c, n...), rlock.MaxWait(500*time.Millisecond)).Lock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, unlock())
	free(t, rival, n...)
}

// FixedLease and MaxHold given to New stand in for the members' own.
func TestOptionsOfTheWhole(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	ctx, c := within(t), clientAt(t, server.Addr(), nil)
	n := names(t, 2)
	held, unlock, err := multilock.New(locks(c, n...), rlock.FixedLease(200*time.Millisecond)).Lock(ctx)
	require.NoError(t, err)
	<-held.Done()
	var loss *rlock.LostError
	require.ErrorAs(t, context.Cause(held), &loss)
	require.Equal(t, rlock.LossExpired, loss.Reason)
	require.ErrorIs(t, unlock(), rlock.ErrLost)

	held, unlock, err = multilock.New(locks(c, n...), rlock.MaxHold(100*time.Millisecond)).Lock(ctx)
	require.NoError(t, err)
	<-held.Done()
	require.ErrorAs(t, context.Cause(held), &loss)
	require.Equal(t, rlock.LossMaxHold, loss.Reason)
	free(t, clientAt(t, server.Addr(), nil), n...)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
}

func TestDoReleasesAndKeepsTheError(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := clientAt(t, server.Addr(), nil)
	n := names(t, 2)
	m := multilock.New(locks(c, n...))
	require.True(t, slices.Equal(n, m.Names()))
	broken := errors.New("broken")
	require.ErrorIs(t, m.Do(within(t), func(context.Context) error { return broken }), broken)
	require.Panics(t, func() {
		_ = m.Do(within(t), func(context.Context) error { panic("broken") })
	})
	free(t, clientAt(t, server.Addr(), nil), n...)
}

// When one member is lost the others are given back, and each says of itself why, though nobody unlocked.
func TestEachMemberSaysWhyItWasGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c, rival, n := clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil), names(t, 3)
	all := locks(c, n...)
	for broken := range n {
		held, unlock, err := multilock.New(all).Lock(within(t))
		require.NoError(t, err)
		require.NoError(t, rlock.New(c, n[broken]).Break(within(t)))
		<-held.Done()
		free(t, rival, n...)
		for _, member := range all {
			_, err := member.Held(held)
			var lost *rlock.LostError
			require.ErrorAs(t, err, &lost)
			require.Equal(t, n[broken], lost.Name)
		}
		require.ErrorIs(t, unlock(), rlock.ErrLost)
	}

	lost, cancel := context.WithCancelCause(t.Context())
	held, unlock, err := multilock.New(all).Lock(lost)
	require.NoError(t, err)
	require.NoError(t, unlock())
	cancel(errors.New("the application's own"))
	_, err = all[0].Held(held)
	require.ErrorIs(t, err, rlock.ErrNotHeld, "the caller unlocked")
}
