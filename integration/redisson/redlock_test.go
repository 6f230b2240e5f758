package redisson_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// RedissonRedLock takes an RLock at each server, and holds if it has most of them. So does redlock, with the same keys:
// whichever has two of three servers keeps the other from a majority. docs/migration.md says so (defect F26: it did not
// name RedissonRedLock).
func TestARedlockExcludesTheMembersOfRedissonRedLock(t *testing.T) {
	t.Parallel()
	classPath(t)
	var nodes []redis.UniversalClient
	var members []thread // of a RedissonRedLock: each server has a Redisson of its own
	for range 3 {
		server := redistest.Start(t)
		nodes = append(nodes, server.Client(t))
		members = append(members, startJava(t, []string{server.Addr()}, javaOptions{}).thread("a"))
	}
	client, err := redlock.NewClient(nodes, &redlock.Options{
		ClientOptions:  rlock.ClientOptions{Logger: slog.New(slog.DiscardHandler)},
		NodeTimeout:    3 * time.Second,
		NoRestartGuard: true,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	lock, ctx := redlock.New(client, "shared"), t.Context()

	members[0].do("lock", "shared")
	members[1].do("lock", "shared")
	_, _, err = lock.TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrBusy, "Java has two of three")

	members[1].do("unlock", "shared")
	_, unlock, err := lock.TryLock(ctx)
	require.NoError(t, err, "Java has one of three")
	require.Equal(t, "false", members[1].do("try", "shared", "0"))
	require.Equal(t, "false", members[2].do("try", "shared", "0"))
	require.NoError(t, unlock())

	require.Equal(t, "true", members[1].do("try", "shared", "0"))
	require.Equal(t, "true", members[2].do("try", "shared", "0"))
}
