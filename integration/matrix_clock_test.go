package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The server's clock is set ahead by more than the lease: for Redis the hold has ended, and another client
// gets the lock at once. Nothing can prevent that, but the owner learns of it with its next renewal, and
// tokens grow.
func TestAServerClockSetAheadEndsTheHoldWithTheNextRenewal(t *testing.T) {
	const (
		lease = 9 * time.Second
		bound = lease/3 + lease/6
		slack = lease / 4 // for the scheduler; together still below validity
	)
	server, clock := redistest.StartWithClock(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
	other, _ := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
	lock, rival := rlock.New(client, "ahead"), rlock.New(other, "ahead")
	warmed := rlock.New(other, "warm") // so that the rival thinks it knows the server's time
	require.NoError(t, warmed.Do(within(t), func(context.Context) error { return nil }))
	ctx, unlock := held(t, lock)
	fence := alive(t, lock, ctx).Fence
	events.renewedAgain(t, 1, lock.Name())

	clock.Ahead(time.Hour)
	jumped := time.Now()
	theirs, leave := held(t, rival)
	require.Greater(t, alive(t, rival, theirs).Fence, fence)
	redistest.Receive(t, limit, ctx.Done(), "the hold is believed in, and another has it")
	require.Less(t, time.Since(jumped), bound+slack)
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(ctx), &lost)
	require.Equal(t, rlock.LossGone, lost.Reason)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	alive(t, rival, theirs)
	require.NoError(t, leave(), "the loser's unlock did not touch it")
}

// Steps smaller than the rest of the lease, either way, cost no hold, do not keep a caller from getting the
// lock, and end no wait too late.
func TestSmallStepsOfTheServerClockCostNothing(t *testing.T) {
	const lease = 4500 * time.Millisecond
	server, clock := redistest.StartWithClock(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease, MaxPoll: never})
	lock, busy := rlock.New(client, "kept"), rlock.New(client, "busy")
	ctx, unlock := held(t, lock)
	fence := alive(t, lock, ctx).Fence
	var last int64
	for _, step := range []time.Duration{4, 1000, -1000, -60_000, -59_000} {
		clock.Ahead(step * time.Millisecond)
		require.NoError(t, busy.Do(within(t), func(ctx context.Context) error {
			hold := alive(t, busy, ctx)
			require.Greater(t, hold.Fence, last, "tokens grow though the clock went back")
			last = hold.Fence
			return nil
		}))
		events.renewedAgain(t, 1, lock.Name())
	}
	require.Equal(t, fence, alive(t, lock, ctx).Fence)
	waiter := waiting(t, events, lock)
	require.NoError(t, unlock())
	require.NoError(t, arrives(t, waiter).unlock())
	require.Empty(t, events.losses())
	require.False(t, exists(t, server, lock.Name()))
}

// The server's clock is set back while a hold exists that is not renewed: Redis keeps it for that much
// longer, and no longer, and then a waiter gets the lock.
func TestAServerClockSetBackKeepsADeadHoldAsMuchLonger(t *testing.T) {
	const lease, back = 2 * time.Second, 3 * time.Second
	server, clock := redistest.StartWithClock(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
	lock := rlock.New(client, "back")
	owner, _ := held(t, lock)
	_, err := lock.Export(owner) // no process has it now, and it stays for its lease
	require.NoError(t, err)
	dead := time.Now()
	waiter := waiting(t, events, lock)
	clock.Ahead(-back)
	o := arrives(t, waiter)
	waited := time.Since(dead)
	require.Greater(t, waited, back, "Redis kept it for as much longer")
	require.Less(t, waited, lease+back+limit/3)
	require.NoError(t, o.unlock())
}
