package integration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const replicated = 1500 * time.Millisecond // lease; a command then has 250 ms, most of them for WAIT

// replicaOf starts a replica that confirms writes.
func replicaOf(t testing.TB, primary *redistest.Server) *redistest.Server {
	t.Helper()
	replica := redistest.Replica(t, primary)
	confirming(t, primary, "probe")
	return replica
}

// confirming waits until a replica confirms writes. The primary sends it commands only after its first ACK,
// which can come a second after the replica considers itself up to date.
func confirming(t testing.TB, primary *redistest.Server, key string) {
	t.Helper()
	ctx := context.Background()
	rdb := primary.Client(t)
	conn := rdb.Conn()
	defer func() { _ = conn.Close() }()
	redistest.Eventually(t, limit, func() bool {
		require.NoError(t, conn.Set(ctx, key, "", 0).Err())
		return conn.Wait(ctx, 1, 50*time.Millisecond).Val() == 1
	}, "the replica confirms nothing")
	require.NoError(t, conn.Del(ctx, key).Err())
}

// Interleaving 12, need 15: WAIT goes over the connection that ran the script. On any other one it would answer
// at once that all is confirmed, and the frozen replica below would go unnoticed.
func TestMinReplicasConfirmsOrTakesBack(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := replicaOf(t, primary)
	client, _ := newClient(t, primary.Client(t), rlock.ClientOptions{Lease: replicated, MinReplicas: 1})
	lock := rlock.New(client, "replicated")
	ctx, unlock := held(t, lock)
	require.True(t, exists(t, replica, lock.Name()), "confirmed means that the replica has it")
	inner, unlockInner, err := lock.Lock(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, alive(t, lock, inner).Count)
	require.NoError(t, unlockInner())
	require.NoError(t, unlock())

	replica.Stop()
	refusesUnconfirmed(t, primary, lock, "0 of 1 replicas")
	replica.Continue()
	recovers(t, lock)
}

// Need 15: a renewal that no replica confirmed does not count: a failover would lose it. So a replica that stays
// frozen ends every hold of such a client, within validity, although the primary still has the key. That is the
// price of MinReplicas. Nothing is counted twice meanwhile, and what is left is released.
func TestAnUnconfirmedRenewalDoesNotCount(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := replicaOf(t, primary)
	client, events := newClient(t, primary.Client(t),
		rlock.ClientOptions{Lease: replicated, MinReplicas: 1})
	lock := rlock.New(client, "renewed")
	ctx, unlock := held(t, lock)
	events.renewedAgain(t, 2, lock.Name())
	replica.Stop()
	_, unlockInner, err := lock.Lock(ctx) // which asks for no more than was confirmed
	require.NoError(t, err)
	require.NoError(t, unlockInner())
	until := alive(t, lock, ctx).ValidUntil
	require.Equal(t, 1, alive(t, lock, ctx).Count)
	redistest.Receive(t, limit, ctx.Done(), "still believed in")
	require.Less(t, time.Since(until), replicated, "far too late")
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(ctx), &lost)
	require.Equal(t, rlock.LossExpired, lost.Reason)
	require.ErrorContains(t, lost.Err, "0 of 1 replicas", "the loss says why")
	require.NotEmpty(t, events.failures(lock.Name()))
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	redistest.Eventually(t, limit, func() bool { return !exists(t, primary, lock.Name()) },
		"the lost hold was not released")
	replica.Continue()
	recovers(t, lock)
}

// A replica that is down for less than validity costs no lock.
func TestAReplicaThatThawsInTimeCostsNothing(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	primary := redistest.Start(t)
	replica := replicaOf(t, primary)
	client, events := newClient(t, primary.Client(t), rlock.ClientOptions{Lease: lease, MinReplicas: 1})
	lock := rlock.New(client, "thaws")
	ctx, unlock := held(t, lock)
	replica.Stop()
	redistest.Eventually(t, limit, func() bool { return len(events.failures(lock.Name())) > 0 },
		"a renewal was confirmed by a frozen replica")
	replica.Continue()
	events.renewedAgain(t, 1, lock.Name())
	alive(t, lock, ctx)
	require.Empty(t, events.losses())
	require.NoError(t, unlock())
}

// G8 with MinReplicas: the owner's unlock succeeds whatever the replica says; the next waiter, which has to ask since it
// wants a lease of its own, learns why it did not get the lock, and the lock is free.
func TestWhatAWaiterTookUnconfirmedIsTakenBack(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := replicaOf(t, primary)
	client, events := newClient(t, primary.Client(t), rlock.ClientOptions{MinReplicas: 1})
	lock := rlock.New(client, "taken")
	_, unlock := held(t, lock)
	first := waiting(t, events, lock)
	require.NoError(t, unlock())
	o := arrives(t, first)
	require.True(t, exists(t, replica, lock.Name()))

	second := waiting(t, events, rlock.New(client, "taken", rlock.FixedLease(replicated)))
	replica.Stop()
	require.NoError(t, o.unlock())
	got := redistest.Receive(t, limit, second, "the waiter was not told")
	require.ErrorIs(t, got.err, rlock.ErrUnavailable)
	require.ErrorContains(t, got.err, "0 of 1 replicas")
	redistest.Eventually(t, limit, func() bool { return !exists(t, primary, lock.Name()) },
		"the lock was not taken back")
	replica.Continue()
}

// Need 15: a client that does not ask for replicas does not pay for them.
func TestWithoutMinReplicasNoWaitIsSent(t *testing.T) {
	t.Parallel()
	for want, replicas := range map[bool]int{false: 0, true: 1} {
		server := redistest.Start(t)
		replicaOf(t, server)
		client, events := newClient(t, server.Client(t),
			rlock.ClientOptions{Lease: replicated, MinReplicas: replicas})
		monitor := server.Monitor(t)
		lock := rlock.New(client, "monitored")
		_, unlock := held(t, lock)
		next := waiting(t, events, lock)
		events.renewedAgain(t, 1, lock.Name())
		require.NoError(t, unlock())
		require.NoError(t, arrives(t, next).unlock())
		// MONITOR writes in order: behind this line nothing of the above is missing.
		require.NoError(t, server.Client(t).Echo(context.Background(), "the end").Err())
		redistest.Eventually(t, limit, func() bool {
			return strings.Contains(strings.Join(monitor.Lines(), "\n"), "the end")
		}, "the monitor is behind")
		lines := strings.ToLower(strings.Join(monitor.Lines(), "\n"))
		require.Contains(t, lines, `"evalsha"`)
		require.Equal(t, want, strings.Contains(lines, `"wait"`), "MinReplicas: %d", replicas)
	}
}

// A replica as target: every write is refused, nothing is held, and the error says what it was.
func TestAReplicaIsNoPlaceToLock(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := replicaOf(t, primary)
	client, _ := newClient(t, replica.Client(t), rlock.ClientOptions{Lease: 600 * time.Millisecond})
	lock := rlock.New(client, "readonly")
	for _, acquire := range []func(context.Context) (context.Context, func() error, error){
		lock.TryLock, lock.Lock,
	} {
		_, _, err := acquire(within(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.ErrorContains(t, err, "READONLY")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, _, err := lock.Lock(ctx)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, primary.Keys(t))
}

// Defect F27: with two replicas MinReplicas 1 does not exclude two holders in a planned failover, and 2 does. The old
// primary still answers when one replica was promoted already, and the other one confirms what that one never gets.
func TestAReplicaThatStaysConfirmsWhatThePromotedOneNeverGets(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	promoted, stays := replicaOf(t, primary), redistest.Replica(t, primary)
	ctx, conn := t.Context(), primary.Client(t).Conn()
	defer func() { _ = conn.Close() }()
	redistest.Eventually(t, limit, func() bool {
		require.NoError(t, conn.Set(ctx, "probe", "", 0).Err())
		return conn.Wait(ctx, 2, 50*time.Millisecond).Val() == 2
	}, "the replicas confirm nothing")
	one, _ := newClient(t, primary.Client(t), rlock.ClientOptions{Lease: replicated, MinReplicas: 1})
	both, _ := newClient(t, primary.Client(t), rlock.ClientOptions{Lease: replicated, MinReplicas: 2})
	require.NoError(t, rlock.New(both, "before").Do(ctx, func(context.Context) error { return nil }))

	require.NoError(t, promoted.Client(t).ReplicaOf(ctx, "NO", "ONE").Err())
	first, unlock := held(t, rlock.New(one, "busy"))
	require.True(t, exists(t, stays, "busy"), "which confirmed it")
	after, _ := newClient(t, promoted.Client(t), rlock.ClientOptions{Lease: replicated})
	_, unlockSecond := held(t, rlock.New(after, "busy"))
	require.NoError(t, first.Err(), "both hold it")
	require.NoError(t, unlockSecond())
	require.NoError(t, unlock())

	_, _, err := rlock.New(both, "busy").TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "1 of 2 replicas")
}

// refusesUnconfirmed asserts that an acquisition which is not confirmed fails, says why, and is taken back.
func refusesUnconfirmed(t *testing.T, primary *redistest.Server, lock *rlock.Lock, says string) {
	t.Helper()
	for _, acquire := range []func(context.Context) (context.Context, func() error, error){
		lock.Lock, lock.TryLock,
	} {
		got, unlock, err := acquire(within(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, rlock.ErrBusy)
		require.ErrorContains(t, err, says)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
		_, err = lock.Held(got)
		require.ErrorIs(t, err, rlock.ErrNotHeld)
		redistest.Eventually(t, limit, func() bool { return !exists(t, primary, lock.Name()) },
			"the lock was not taken back")
	}
}

// recovers waits until the lock can be acquired again.
func recovers(t *testing.T, lock *rlock.Lock) {
	t.Helper()
	redistest.Eventually(t, limit, func() bool {
		return lock.Do(context.Background(), func(context.Context) error { return nil }) == nil
	}, "acquisitions do not recover")
}
