package failover_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const limit = 30 * time.Second // of a wait for what has to happen

func newClient(t testing.TB, rdb redis.UniversalClient, lease time.Duration) *rlock.Client {
	t.Helper()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: lease, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return client
}

// nameOn returns a name that the given node of a cluster serves.
func nameOn(t testing.TB, lab *redistest.ReplicatedClusterLab, node int) string {
	t.Helper()
	for i := range 1000 {
		name := "name:" + strconv.Itoa(i)
		if lab.NodeFor(t, lab.Slot(t, name)) == node {
			return name
		}
	}
	t.Fatalf("no name for node %d", node)
	return ""
}

func on(t testing.TB, server *redistest.Server) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(server.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// defect B2: a client without waiters at a primary that dies learns of its replica from the errors, or from the
// silence, in time to renew its holds there.
func TestAHoldOutlivesThePrimaryThoughNobodyWaitsThere(t *testing.T) {
	for name, die := range map[string]func(*redistest.Server){
		"killed": (*redistest.Server).Kill, "stopped": (*redistest.Server).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lease = 9 * time.Second
			lab := redistest.ReplicatedCluster(t, 3)
			client := newClient(t, lab.Client(t), lease)
			lock := rlock.New(client, nameOn(t, lab, 1))
			ctx, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			before, err := lock.Held(ctx)
			require.NoError(t, err)
			replica := on(t, lab.Replica(1))
			redistest.Eventually(t, limit, func() bool { return replica.DBSize(t.Context()).Val() >= 2 },
				"the hold and its token were not replicated")
			die(lab.Node(1))
			if name == "stopped" {
				t.Cleanup(lab.Node(1).Continue)
			}
			promote(t, lab, 1)
			redistest.Eventually(t, limit, func() bool {
				hold, err := lock.Held(ctx)
				return err != nil || hold.ValidUntil.After(before.ValidUntil)
			}, "neither renewed nor lost")
			require.NoError(t, ctx.Err(), "%v", context.Cause(ctx))
			require.NoError(t, unlock())
			require.Zero(t, replica.Exists(t.Context(), lock.Name()).Val())
		})
	}
}

// promote makes the replica of node i take over although node i does not answer.
func promote(t testing.TB, lab *redistest.ReplicatedClusterLab, i int) {
	t.Helper()
	replica := on(t, lab.Replica(i))
	require.NoError(t, replica.Do(t.Context(), "cluster", "failover", "takeover").Err())
	redistest.Eventually(t, limit, func() bool {
		return replica.Info(t.Context(), "replication").Val() != "" &&
			replica.Do(t.Context(), "role").Val().([]any)[0] == "master"
	}, "the replica was not promoted")
}

// defect B3: the deposed primary goes on answering for seconds. A hold that is released there stays on the new
// primary, unless it is released again.
func TestAReleaseAtADeposedPrimaryIsRepeated(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	lab := redistest.Sentinel(t)
	old := lab.Primary(t)
	next := on(t, lab.Servers()[1])
	client := newClient(t, lab.Client(t), lease)
	lock := rlock.New(client, "released")
	_, unlock, err := lock.Lock(t.Context())
	require.NoError(t, err)
	redistest.Eventually(t, limit, func() bool { return next.Exists(t.Context(), lock.Name()).Val() == 1 },
		"the hold was not replicated")
	order(t, lab)
	redistest.Eventually(t, limit, func() bool {
		role, err := next.Do(t.Context(), "role").Slice()
		return err == nil && role[0] == "master"
	}, "the replica was not promoted")
	require.NoError(t, unlock())
	redistest.Eventually(t, limit, func() bool { return next.Exists(t.Context(), lock.Name()).Val() == 0 },
		"the hold stands on the new primary")
	require.Equal(t, "master", old.Info(t, "replication")["role"], "nobody had to wait for its end")
}

// defect B3: connections to the deposed primary are given up when the Sentinels name another one, not only when they
// are old or the primary is told that it was deposed, which here is seconds later.
func TestTheDeposedPrimaryIsLeftAtOnce(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	lab := redistest.Sentinel(t)
	old := lab.Primary(t)
	client := newClient(t, lab.Client(t), lease)
	require.NoError(t, rlock.New(client, "before").Do(t.Context(), func(context.Context) error { return nil }))
	next := on(t, lab.Failover(t))
	for i := 0; ; i++ {
		require.Equal(t, "master", old.Info(t, "replication")["role"], "it was used to the end")
		lock := rlock.New(client, "after:"+strconv.Itoa(i))
		_, unlock, err := lock.Lock(t.Context())
		require.NoError(t, err)
		there := next.Exists(t.Context(), lock.Name()).Val() == 1
		err = unlock()
		if errors.Is(err, rlock.ErrLost) && !there {
			continue // it was left between the two
		}
		require.NoError(t, err)
		if there {
			return
		}
	}
}

// order makes a Sentinel begin a failover.
func order(t testing.TB, lab *redistest.SentinelLab) {
	t.Helper()
	sentinel := on(t, lab.Sentinels()[0])
	redistest.Eventually(t, limit, func() bool {
		return sentinel.Do(t.Context(), "sentinel", "failover", "primary").Err() == nil
	}, "the Sentinel did not begin a failover")
}
