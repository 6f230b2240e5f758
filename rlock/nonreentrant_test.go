package rlock_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// above is the place of the line n above the one that calls it.
func above(n int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line-n)
}

// entered asserts that a call was refused because its context carries a hold that was taken at a place.
func entered(t *testing.T, err error, kind rlock.Kind, name, place string) {
	t.Helper()
	var refused *rlock.ReentryError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, rlock.ReentryError{Name: name, Kind: kind, Place: place}, *refused)
	for _, other := range []error{rlock.ErrBusy, rlock.ErrLost, rlock.ErrUnavailable, rlock.ErrNotHeld} {
		require.NotErrorIs(t, err, other)
	}
}

type taking func(ctx context.Context) (context.Context, func() error, error)

// Whatever call takes the lock, through a handle, an interface or a set: with the context of a hold it fails at once,
// tells where the hold was taken, and sends nothing. The hold is as it was.
func TestNonReentrantRefusesTheContextOfAHold(t *testing.T) {
	t.Parallel()
	var sent redistest.Meter
	client := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{})
	name := redistest.Key(t)
	lock := rlock.New(client, name, rlock.NonReentrant())
	var locker rlock.Locker = rlock.New(client, name, rlock.NonReentrant())
	other := rlock.New(client, redistest.Key(t)+":other")
	held, unlock, err := lock.Lock(conductCtx(t))
	place := above(1)
	require.NoError(t, err)
	before := sent.Sent()
	for call, take := range map[string]taking{
		"Lock": lock.Lock, "TryLock": lock.TryLock, "an interface": locker.Lock,
		"a member of a set":     multilock.New([]*rlock.Lock{other, lock}).Lock,
		"an attempt for it":     multilock.New([]*rlock.Lock{other, lock}).TryLock,
		"a set with the option": multilock.New([]*rlock.Lock{other, rlock.New(client, name)}, rlock.NonReentrant()).Lock,
	} {
		ctx := context.WithoutCancel(held)
		same, nothing, err := take(ctx)
		entered(t, err, rlock.KindLock, name, place)
		require.True(t, same == ctx, call)
		require.ErrorIs(t, nothing(), rlock.ErrNotHeld)
	}
	for _, do := range []rlock.Locker{lock, locker, multilock.New([]*rlock.Lock{lock})} {
		entered(t, do.Do(held, func(context.Context) error { panic("the work is done all the same") }),
			rlock.KindLock, name, place)
	}
	require.Equal(t, before, sent.Sent())
	require.NoError(t, held.Err())
	require.Equal(t, 1, timeHeld(t, held, lock).Count)

	// Another handle enters as ever, and so does the work that queues.
	again, leave, err := rlock.New(client, name).Lock(held)
	require.NoError(t, err)
	_, _, err = lock.Lock(again)
	entered(t, err, rlock.KindLock, name, place)
	require.NoError(t, leave())
	_, _, err = lock.TryLock(rlock.WithoutHolds(held))
	require.ErrorIs(t, err, rlock.ErrBusy)
	_, _, err = lock.Lock(again)
	require.ErrorIs(t, err, rlock.ErrReleased, "a context that is over is told first")
	require.NoError(t, unlock())
	require.NoError(t, lock.Do(conductCtx(t), func(context.Context) error { return nil }))
}

// The place is that of the call by the application, whichever method makes it, and unknown if another handle took the
// hold.
func TestNonReentrantTellsWhereTheHoldWasTaken(t *testing.T) {
	t.Parallel()
	client := conductClient(t, redistest.Shared(t).Addr(), nil)
	name := redistest.Key(t)
	lock := rlock.New(client, name, rlock.NonReentrant())
	again := func(held context.Context) error {
		_, _, err := lock.Lock(held)
		return err
	}
	err := lock.Do(conductCtx(t), again)
	entered(t, err, rlock.KindLock, name, above(1))
	err = multilock.New([]*rlock.Lock{lock}).Do(conductCtx(t), again)
	entered(t, err, rlock.KindLock, name, above(1))
	require.ErrorContains(t, err, fmt.Sprintf(
		"holdfast: NonReentrant: the context carries a hold of lock %q already, taken at %s; give", name, above(3)))
	err = rlock.New(client, name).Do(conductCtx(t), again)
	entered(t, err, rlock.KindLock, name, "")
	require.NotContains(t, err.Error(), "taken at")

	held, _, err := lock.TryLock(conductCtx(t))
	require.NoError(t, err)
	token, err := lock.Export(held)
	require.NoError(t, err)
	held, unlock, err := lock.Import(conductCtx(t), token)
	place := above(1)
	require.NoError(t, err)
	_, _, err = lock.Import(held, token)
	entered(t, err, rlock.KindLock, name, place)
	require.NoError(t, unlock())
}

// Either side of a read-write lock counts, a reader that joins others has a place of its own, and permits are refused
// where they would be waited for.
func TestNonReentrantOfOtherKinds(t *testing.T) {
	t.Parallel()
	client := conductClient(t, redistest.Shared(t).Addr(), nil)
	name := redistest.Key(t)
	sides := rwlock.New(client, name, rlock.NonReentrant())
	_, first, err := sides.Read().Lock(conductCtx(t))
	require.NoError(t, err)
	held, unlock, err := sides.Read().Lock(conductCtx(t))
	place := above(1)
	require.NoError(t, err)
	_, _, err = sides.Read().Lock(held)
	entered(t, err, rlock.KindRead, name, place)
	_, _, err = rwlock.New(client, name).Write().Lock(held)
	require.ErrorIs(t, err, rwlock.ErrUpgrade)
	require.NoError(t, unlock())
	require.NoError(t, first())
	held, unlock, err = sides.Write().Lock(conductCtx(t))
	place = above(1)
	require.NoError(t, err)
	_, _, err = sides.Read().TryLock(held)
	entered(t, err, rlock.KindWrite, name, place)
	require.NoError(t, unlock())

	printers := semaphore.New(client, name+":printers", rlock.NonReentrant())
	require.NoError(t, printers.SetCapacity(conductCtx(t), 3))
	held, release, err := printers.Acquire(conductCtx(t), 1)
	place = above(1)
	require.NoError(t, err)
	_, _, err = printers.TryAcquire(held, 1)
	entered(t, err, rlock.KindSemaphore, name+":printers", place)
	_, other, err := semaphore.New(client, name+":printers").TryAcquire(held, 1)
	require.NoError(t, err, "without the option it has permits of its own")
	require.NoError(t, other())
	require.NoError(t, release())
	require.NoError(t, printers.Delete(conductCtx(t)))
}

// A hold that was lost is told as a loss.
func TestNonReentrantTellsOfALossFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		lock := rlock.New(client, "order", rlock.NonReentrant(), rlock.MaxHold(time.Second))
		hold := timeLock(t, t.Context(), lock)
		<-hold.ctx.Done()
		_, _, err := lock.Lock(context.WithoutCancel(hold.ctx))
		timeLost(t, err, rlock.LossMaxHold)
		timeLost(t, hold.unlock(), rlock.LossMaxHold)
	})
}
