package fence_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func redisGuard(t *testing.T) (*fence.Redis, *redis.Client, string) {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	guard, err := fence.NewRedis(rdb, 0)
	require.NoError(t, err)
	return guard, rdb, redistest.Key(t)
}

// Equal and newer tokens write, older ones do not, whatever the command.
func TestRedisRefusesOlderTokens(t *testing.T) {
	t.Parallel()
	guard, rdb, key := redisGuard(t)
	const old, newer = int64(1_795_000_000_000_000), int64(1_795_000_000_000_001)
	reply, err := guard.Do(t.Context(), key, old, "SET", "first")
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
	_, err = guard.Do(t.Context(), key, old, "APPEND", " again")
	require.NoError(t, err)
	reply, err = guard.Do(t.Context(), key, newer, "GET") // as a holder reads that will write
	require.NoError(t, err)
	require.Equal(t, "first again", reply)

	for _, command := range [][]any{{"SET", "late"}, {"DEL"}, {"EXPIRE", 1}} {
		_, err = guard.Do(t.Context(), key, old, command[0].(string), command[1:]...)
		require.ErrorIs(t, err, fence.ErrStale)
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, fence.StaleError{Name: key, Token: old, Newest: newer}, *stale)
	}
	require.Equal(t, "first again", rdb.Get(t.Context(), key).Val())
	require.Greater(t, rdb.PTTL(t.Context(), "holdfast_fence:{"+key+"}").Val(), 6*24*time.Hour)
}

// What a command returns is returned, and what it refuses is an error.
func TestRedisReturnsWhatTheCommandReturns(t *testing.T) {
	t.Parallel()
	guard, _, key := redisGuard(t)
	reply, err := guard.Do(t.Context(), key, 1, "GET")
	require.NoError(t, err)
	require.Nil(t, reply)
	reply, err = guard.Do(t.Context(), key, 1, "INCRBY", 5)
	require.NoError(t, err)
	require.Equal(t, int64(5), reply)
	_, err = guard.Do(t.Context(), key, 2, "HSET", "field", "value")
	var refused redis.Error
	require.ErrorAs(t, err, &refused, "Redis's own error")
	_, err = guard.Do(t.Context(), key, 1, "INCRBY", 5)
	require.ErrorIs(t, err, fence.ErrStale, "the holder of token 2 has been here")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	guard, rdb, key := redisGuard(t)
	_, err := guard.Do(t.Context(), key, 0, "SET", "x")
	require.ErrorContains(t, err, "must be positive")
	_, err = guard.Do(t.Context(), "", 1, "SET", "x")
	require.Error(t, err)
	_, err = guard.Do(t.Context(), key, 1, "")
	require.Error(t, err)
	_, err = fence.NewRedis(rdb, time.Millisecond)
	require.Error(t, err)
	_, err = fence.NewRedis(nil, 0)
	require.Error(t, err)
	for _, table := range []string{"", "a b", "a;b", "a.b.c", `a"`} {
		_, err = fence.NewSQL(fence.SQLite, table)
		require.Error(t, err, table)
	}
	_, err = fence.NewSQL(0, "fences")
	require.Error(t, err)
	for _, dialect := range []fence.Dialect{fence.PostgreSQL, fence.MySQL, fence.SQLite} {
		sql, err := fence.NewSQL(dialect, "app.fences")
		require.NoError(t, err)
		require.Contains(t, sql.Schema(), "app.fences")
		require.ErrorContains(t, sql.Tx(t.Context(), nil, "name", 0, nil), "must be positive")
	}
}
