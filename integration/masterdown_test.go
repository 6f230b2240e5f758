package integration_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// downReplica starts a replica that serves nobody while it has no primary.
func downReplica(t *testing.T, primary *redistest.Server) *redistest.Server {
	t.Helper()
	replica := redistest.Replica(t, primary, redistest.WithArgs("--replica-serve-stale-data", "no"))
	confirming(t, primary, "probe")
	return replica
}

// down waits until a replica has noticed that its link is cut.
func down(t *testing.T, replica *redistest.Server) {
	t.Helper()
	rdb := replica.Client(t)
	redistest.Eventually(t, limit, func() bool {
		err := rdb.Get(context.Background(), "probe").Err()
		return err != nil && redis.HasErrorPrefix(err, "MASTERDOWN")
	}, "the replica serves stale data")
}

// following returns a client whose new connections go to the server that it was aimed at last, like those of a
// Sentinel client or behind a changed address.
func following(t *testing.T, first *redistest.Server) (rdb *redis.Client, aim func(*redistest.Server)) {
	t.Helper()
	var target atomic.Pointer[redistest.Server]
	target.Store(first)
	rdb = redis.NewClient(&redis.Options{
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, target.Load().Addr())
		},
	})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return rdb, target.Store
}

// The primary dies and clients switch to its replica, which is not promoted yet and answers MASTERDOWN to everything.
// New attempts return that, waits go on, a renewal is retried while the hold is valid, and a failed release is
// repeated once the replica is a primary. No hold is lost.
func TestAReplicaWithoutItsPrimaryIsWaitedFor(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := downReplica(t, primary)
	rdb, aim := following(t, primary)
	client, events := newClient(t, rdb, rlock.ClientOptions{
		Lease: 9 * time.Second, ReleaseTimeout: 500 * time.Millisecond,
	})
	other, _ := newClient(t, rdb, rlock.ClientOptions{})
	kept, wanted := rlock.New(client, "kept"), rlock.New(other, "wanted")
	ctx, unlock := held(t, kept)
	fence := alive(t, kept, ctx).Fence
	_, unlockLong := held(t, rlock.New(client, "long", rlock.FixedLease(time.Hour)))
	events.renewedAgain(t, 1, kept.Name())
	redistest.Eventually(t, limit, func() bool {
		return exists(t, replica, kept.Name()) && exists(t, replica, "long")
	}, "the holds were not replicated")

	primary.Kill()
	aim(replica)
	down(t, replica)
	_, _, err := wanted.TryLock(context.Background())
	refused(t, err, "MASTERDOWN")
	patient := make(chan outcome, 1)
	go func() {
		ctx, unlock, err := locked(context.Background(), wanted)
		patient <- outcome{ctx, unlock, err}
	}()
	brief, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, _, err = rlock.New(other, "brief").Lock(brief)
	refused(t, err, "MASTERDOWN")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	err = unlockLong()
	require.ErrorIs(t, err, rlock.ErrUnconfirmed)
	require.ErrorContains(t, err, "MASTERDOWN")
	redistest.Eventually(t, limit, func() bool {
		for _, err := range events.failures(kept.Name()) {
			if redis.HasErrorPrefix(err, "MASTERDOWN") {
				return true
			}
		}
		return false
	}, "no renewal was refused")
	alive(t, kept, ctx)

	require.NoError(t, replica.Client(t).ReplicaOf(context.Background(), "NO", "ONE").Err())
	require.NoError(t, arrives(t, patient).unlock())
	events.renewedAgain(t, 1, kept.Name())
	require.Equal(t, fence, alive(t, kept, ctx).Fence)
	require.NoError(t, unlock())
	require.Empty(t, events.losses())
	redistest.Eventually(t, limit, func() bool { return !exists(t, replica, "long") },
		"what could not be released was not released later")
	require.False(t, exists(t, replica, kept.Name()) || exists(t, replica, wanted.Name()))
}

// Nobody promotes it: a hold ends when its validity ends and says why, and a call without a time limit gives up when
// it was refused for a lease.
func TestAReplicaThatStaysWithoutItsPrimaryEndsTheHoldInTime(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := downReplica(t, primary)
	rdb, aim := following(t, primary)
	client, events := newClient(t, rdb, rlock.ClientOptions{
		Lease: 1800 * time.Millisecond, ReleaseTimeout: time.Second,
	})
	lock := rlock.New(client, "refused")
	ctx, unlock := held(t, lock)
	events.renewedAgain(t, 1, lock.Name())
	primary.Kill()
	aim(replica)
	until := alive(t, lock, ctx).ValidUntil
	redistest.Receive(t, limit, ctx.Done(), "the hold is valid although nothing confirms it")
	require.False(t, time.Now().Before(until.Add(-50*time.Millisecond)), "it was given up while it was valid")
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(ctx), &lost)
	require.Equal(t, rlock.LossExpired, lost.Reason)
	require.ErrorContains(t, lost.Err, "MASTERDOWN", "the loss says why")
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	for _, acquire := range []func(context.Context) (context.Context, func() error, error){
		lock.TryLock, lock.Lock,
	} {
		_, unlock, err := acquire(within(t))
		refused(t, err, "MASTERDOWN")
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
	_, _, err := rlock.New(client, "other", rlock.MaxWait(50*time.Millisecond)).Lock(within(t))
	refused(t, err, "MASTERDOWN")
	_, err = lock.Inspect(within(t))
	refused(t, err, "MASTERDOWN")

	require.NoError(t, replica.Client(t).ReplicaOf(context.Background(), "NO", "ONE").Err())
	_, unlock = held(t, lock)
	require.NoError(t, unlock())
}
