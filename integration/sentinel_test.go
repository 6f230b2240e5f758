package integration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A third of it is longer than a failover takes here, and the old primary, which nobody tells that it was
// deposed for eight seconds or more, stays a primary for longer than the third.
const sentinelLease = 12 * time.Second

// pttl is the rest of a lock's lease on a server.
func pttl(t testing.TB, server *redistest.Server, name string) time.Duration {
	t.Helper()
	rdb := redis.NewClient(server.Options())
	defer func() { _ = rdb.Close() }()
	left, err := rdb.PTTL(context.Background(), name).Result()
	require.NoError(t, err)
	return left
}

// Interleaving 3: the deposed primary lives on and answers every client that still has a connection to it.
// The holder's renewals must still reach the new primary, before the lease there ends. A hold that is
// renewed only on the old one would be treated as live without bound, which this test checks.
func TestRenewalsFollowAFailoverAlthoughTheOldPrimaryAnswers(t *testing.T) {
	t.Parallel()
	lab := redistest.Sentinel(t)
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: sentinelLease})
	other, otherEvents := newClient(t, lab.Client(t), rlock.ClientOptions{
		Lease: sentinelLease, MaxPoll: 500 * time.Millisecond,
	})
	lock := rlock.New(client, "failover")
	ctx, unlock := held(t, lock)
	waiter := waiting(t, otherEvents, rlock.New(other, lock.Name()))
	events.renewedAgain(t, 1, lock.Name()) // so that there is a connection to the old primary
	old := lab.Primary(t)
	next := lab.Failover(t)
	require.Equal(t, "master", old.Info(t, "replication")["role"], "nobody deposed it yet")
	renewed := time.Now()
	// Without a renewal the rest of the lease on the new primary only falls.
	last := pttl(t, next, lock.Name())
	require.Positive(t, last, "the key was not replicated")
	redistest.Eventually(t, sentinelLease/3+1500*time.Millisecond, func() bool {
		left := pttl(t, next, lock.Name())
		grown := left > last
		last = left
		return grown
	}, "no renewal reached the new primary")
	t.Logf("renewed on the new primary %v after the failover", time.Since(renewed).Round(time.Millisecond))
	alive(t, lock, ctx)
	require.Empty(t, events.losses())
	select {
	case o := <-waiter:
		require.Fail(t, "the waiter returned while the lock was held", "%v", o.err)
	default:
	}
	require.NoError(t, unlock())
	require.NoError(t, arrives(t, waiter).unlock())
	require.False(t, exists(t, next, lock.Name()))
}

// The primary stops answering. Either the renewals reach the next one in time, or the hold is reported lost
// while nobody else can have it yet (G2); in any case others get the lock later (bug 55).
func TestAPrimaryThatFreezesIsReplaced(t *testing.T) {
	for name, lease := range map[string]time.Duration{
		"longer than the failover": sentinelLease, "shorter than the failover": 900 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := redistest.Sentinel(t)
			client, events := newClient(t, lab.Client(t), rlock.ClientOptions{
				Lease: lease, MaxPoll: 500 * time.Millisecond,
			})
			lock := rlock.New(client, "frozen")
			ctx, unlock := held(t, lock)
			old := lab.Primary(t)
			old.Stop()
			until := alive(t, lock, ctx).ValidUntil
			next := lab.WaitFailover(t, old)
			if lease == sentinelLease {
				redistest.Eventually(t, limit, func() bool {
					hold, err := lock.Held(ctx)
					return err != nil || hold.ValidUntil.After(until)
				}, "neither renewed nor lost")
				alive(t, lock, ctx)
				require.Positive(t, pttl(t, next, lock.Name()))
				require.NoError(t, unlock())
			} else {
				redistest.Receive(t, limit, ctx.Done(), "still believed in")
				var lost *rlock.LostError
				require.ErrorAs(t, context.Cause(ctx), &lost)
				require.Len(t, events.losses(), 1)
				require.True(t, errors.Is(unlock(), rlock.ErrLost))
			}
			// The same client, another client, and the old primary back as a replica.
			another, _ := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: sentinelLease})
			for _, c := range []*rlock.Client{client, another} {
				redistest.Eventually(t, limit, func() bool {
					return rlock.New(c, lock.Name()).Do(context.Background(),
						func(context.Context) error { return nil }) == nil
				}, "acquisitions do not recover")
			}
			old.Continue()
			_, unlock = held(t, lock)
			require.True(t, exists(t, next, lock.Name()), "taken on the deposed primary")
			require.NoError(t, unlock())
		})
	}
}

// Bug 30: waiters are woken by messages of the new primary: their subscription must not stay at the old one.
func TestWaitersAreWokenAfterAFailover(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second // a subscription then lives for one second
	lab := redistest.Sentinel(t)
	holder, _ := newClient(t, lab.Client(t), rlock.ClientOptions{})
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: lease, MaxPoll: never})
	name := "woken"
	_, unlock := held(t, rlock.New(holder, name, rlock.FixedLease(time.Hour)))
	waiter := waiting(t, events, rlock.New(client, name))
	old := lab.Primary(t)
	next := lab.Failover(t)
	subscribed(t, next, name)
	// A release on the deposed primary would be lost with all else that is written there.
	redistest.Eventually(t, limit, func() bool {
		return old.Info(t, "replication")["role"] == "slave"
	}, "the old primary goes on as one")
	require.NoError(t, unlock())
	require.NoError(t, arrives(t, waiter).unlock())
}
