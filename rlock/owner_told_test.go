package rlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

const ownerPrefix = "holdfast_owner:"

// ownerKeys are the keys that tell who clients are.
func ownerKeys(t testing.TB, server *redistest.Server) (found []string) {
	for _, key := range server.Keys(t) {
		if strings.HasPrefix(key, ownerPrefix) {
			found = append(found, key)
		}
	}
	return found
}

// One key for all holds of a client tells who it is, as long as it has any, and goes with the client.
func TestOthersAreToldWhoHolds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb, ctx := server.Client(t), conductCtx(t)
	silent := clientOn(t, rdb, nil)
	client := clientOn(t, rdb, &rlock.ClientOptions{Owner: "web-1 pid 7 shop"})
	asking := clientOn(t, rdb, &rlock.ClientOptions{Owner: rlock.ThisProcess()})
	require.Empty(t, ownerKeys(t, server), "nothing is held")
	conductTake(t, ctx, rlock.New(silent, "silent"))
	for _, name := range []string{"a", "b", "c"} {
		conductTake(t, ctx, rlock.New(client, name))
	}
	redistest.Eventually(t, conductLimit, func() bool { return len(ownerKeys(t, server)) == 1 }, "no key tells who holds")
	key := ownerKeys(t, server)[0]
	assert.EqualValues(t, 5, server.Calls(t, "set"), "the tokens of four locks, and one owner")
	assert.Positive(t, rdb.PTTL(ctx, key).Val())

	inspect := func(client *rlock.Client, name string) string {
		info, err := rlock.New(client, name).Inspect(ctx)
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		return info.Holders[0].Owner
	}
	assert.Equal(t, "web-1 pid 7 shop", inspect(asking, "b"))
	assert.Empty(t, inspect(asking, "silent"))
	assert.Empty(t, inspect(silent, "b"), "who does not tell is not told")
	for entry, err := range operate.List(ctx, silent, "c") {
		require.NoError(t, err)
		assert.Equal(t, "web-1 pid 7 shop", entry.Holders[0].Owner, "List tells everybody")
	}
	require.ErrorContains(t, client.Close(), "still held")
	assert.Empty(t, ownerKeys(t, server))
}

// What is renewed keeps the key, and a client that died leaves it for less than two leases.
func TestTheOwnerIsToldAsLongAsSomethingIsHeld(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb, ctx := server.Client(t), conductCtx(t)
	client := clientOn(t, rdb, &rlock.ClientOptions{Owner: "me", Lease: 600 * time.Millisecond})
	_, unlock := conductTake(t, ctx, rlock.New(client, "l"))
	redistest.Eventually(t, conductLimit, func() bool { return len(ownerKeys(t, server)) == 1 }, "no key tells who holds")
	require.NoError(t, rdb.Del(ctx, ownerKeys(t, server)...).Err())
	redistest.Eventually(t, conductLimit, func() bool { return len(ownerKeys(t, server)) == 1 }, "renewals do not tell")
	require.NoError(t, unlock())
	redistest.Eventually(t, conductLimit, func() bool { return len(ownerKeys(t, server)) == 0 }, "the key stays")
}

// Without the right to the key, locks work all the same.
func TestAUserWhoMayNotTell(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := deniedUser(t, server, "resetkeys", "~l", "~redisson_lock_token:{l}")
	client := deniedClient(t, redis.NewClient(opts))
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	told := clientOn(t, rdb, &rlock.ClientOptions{Owner: "me"})
	_, unlock := conductTake(t, conductCtx(t), rlock.New(told, "l"))
	info, err := rlock.New(told, "l").Inspect(conductCtx(t))
	require.NoError(t, err)
	require.Empty(t, info.Holders[0].Owner)
	require.NoError(t, unlock())
	require.NoError(t, told.Close())
	_, again := conductTake(t, conductCtx(t), rlock.New(client, "l"))
	require.NoError(t, again())
}
