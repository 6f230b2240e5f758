package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// fsynced is a lease with which a request has 3 s: a replica says once a second what is on its disk.
const fsynced = 18 * time.Second

// onDisk are the arguments of a server that has each write on its disk before it answers.
var onDisk = redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always")

// syncing starts a primary with an append-only file, that has WAITAOF, and a replica of it with these arguments.
func syncing(t testing.TB, replicas ...string) (primary, replica *redistest.Server) {
	t.Helper()
	newer := redistest.AtLeast(t, 7, 2)
	primary = redistest.Start(t, newer, onDisk)
	replica = redistest.Replica(t, primary, newer, redistest.WithArgs(replicas...))
	confirming(t, primary, "probe")
	return primary, replica
}

// With Fsync a lock is held when the disks of the primary and of a replica have it. A replica that stands still takes it
// back, with the error of MinReplicas.
func TestFsyncConfirmsOrTakesBack(t *testing.T) {
	t.Parallel()
	primary, replica := syncing(t, "--appendonly", "yes", "--appendfsync", "always")
	waits := primary.Calls(t, "wait")
	client, _ := newClient(t, primary.Client(t), rlock.ClientOptions{Lease: fsynced, MinReplicas: 1, Fsync: true})
	lock := rlock.New(client, "synced")
	ctx, unlock := held(t, lock)
	require.True(t, exists(t, replica, lock.Name()), "confirmed means that the replica has it")
	require.EqualValues(t, 1, primary.Calls(t, "waitaof"), "for the acquisition")
	require.Equal(t, waits, primary.Calls(t, "wait"), "WAITAOF is sent in its place")
	_, unlockInner, err := lock.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, unlockInner())
	require.NoError(t, unlock())

	replica.Stop()
	refusesUnconfirmed(t, primary, lock, "0 of 1 replicas confirmed in time that the write is on their disks")
	replica.Continue()
	recovers(t, lock)
}

// A replica that has no append-only file has the lock in memory, which MinReplicas counts, and Fsync does not.
func TestAReplicaWithoutAFileConfirmsNothingOnDisk(t *testing.T) {
	t.Parallel()
	primary, _ := syncing(t)
	rdb := primary.Client(t)
	inMemory, _ := newClient(t, rdb, rlock.ClientOptions{Lease: fsynced, MinReplicas: 1})
	require.NoError(t, rlock.New(inMemory, "a").Do(within(t), func(context.Context) error { return nil }))
	both, _ := newClient(t, rdb, rlock.ClientOptions{Lease: fsynced, MinReplicas: 1, Fsync: true})
	_, _, err := rlock.New(both, "b").TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "0 of 1 replicas")
	alone, _ := newClient(t, rdb, rlock.ClientOptions{Lease: fsynced, Fsync: true})
	require.NoError(t, rlock.New(alone, "c").Do(within(t), func(context.Context) error { return nil }))

	found := make(map[string]lock.Finding)
	for _, f := range operate.Check(within(t), both, "") {
		found[f.Name] = f
	}
	require.Equal(t, lock.LevelOK, found["fsync"].Level, found["fsync"])
	require.Equal(t, lock.LevelFailure, found["trial"].Level, found["trial"])
	require.Contains(t, found["trial"].Text, "their disks")
}

// A renewal that the disk of the primary does not confirm does not count.
func TestARenewalThatIsNotOnDiskDoesNotCount(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AtLeast(t, 7, 2), onDisk)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: 3 * time.Second, Fsync: true})
	lock := rlock.New(client, "renewed")
	ctx, unlock := held(t, lock)
	events.renewedAgain(t, 2, lock.Name())
	require.NoError(t, server.Client(t).ConfigSet(t.Context(), "appendfsync", "no").Err())
	redistest.Receive(t, limit, ctx.Done(), "still believed in")
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(ctx), &lost)
	require.Equal(t, rlock.LossExpired, lost.Reason)
	require.ErrorContains(t, lost.Err, "the primary did not confirm in time that the write is on its disk")
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	redistest.Eventually(t, limit, func() bool { return !exists(t, server, lock.Name()) },
		"the lost hold was not released")
}

// withoutWaitAOF starts a server with an append-only file and without WAITAOF: an old one, or a newer that hides it.
func withoutWaitAOF(t testing.TB) *redistest.Server {
	t.Helper()
	server := redistest.Start(t, redistest.WithArgs("--appendonly", "yes"))
	if major, minor := server.Version(); major < 7 || major == 7 && minor < 2 {
		return server
	}
	return redistest.Start(t, redistest.WithArgs("--appendonly", "yes", "--rename-command", "WAITAOF", ""))
}

// Where the server cannot tell what is on its disk, each acquisition fails, says what the server lacks, waits for nothing, and leaves nothing;
// a check says it too.
func TestFsyncOfAServerThatCannotTell(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) error { return nil }
	for name, start := range map[string]func() *redistest.Server{
		"no WAITAOF": func() *redistest.Server { return withoutWaitAOF(t) },
		"no file":    func() *redistest.Server { return redistest.Start(t, redistest.AtLeast(t, 7, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start()
			client, _ := newClient(t, server.Client(t), rlock.ClientOptions{Lease: time.Hour, Fsync: true})
			a, b := rlock.New(client, "a"), rlock.New(client, "b")
			_, _, tried := a.TryLock(within(t))
			for what, err := range map[string]error{
				"TryLock": tried, "Lock": a.Do(within(t), nothing), "multilock": multilock.New([]*rlock.Lock{a, b}).Do(within(t), nothing),
			} {
				require.ErrorIs(t, err, rlock.ErrUnavailable, what)
				require.NotErrorIs(t, err, context.DeadlineExceeded, what)
				require.ErrorContains(t, err, "ClientOptions.Fsync needs WAITAOF", what)
			}
			if name == "no file" { // of unknown commands no server has a count
				require.EqualValues(t, 3, server.Calls(t, "waitaof"), "one for each call, the set's among them")
			}
			redistest.Eventually(t, limit, func() bool { return !exists(t, server, "a") && !exists(t, server, "b") },
				"a lock was not taken back")
			found := make(map[string]lock.Finding)
			for _, f := range operate.Check(within(t), client, "") {
				found[f.Name] = f
			}
			require.Equal(t, lock.LevelFailure, found["fsync"].Level, found["fsync"])
			require.Contains(t, found["fsync"].Text, "Redis 7.2 or newer")
		})
	}
}
