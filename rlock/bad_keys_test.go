package rlock_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// badForeigners put something at the lock's key l or at the token's key k that is none of ours.
var badForeigners = map[string]func(c context.Context, rdb *redis.Client, l, k string){
	"string":          func(c context.Context, rdb *redis.Client, l, _ string) { rdb.Set(c, l, "v", 0) },
	"string with TTL": func(c context.Context, rdb *redis.Client, l, _ string) { rdb.Set(c, l, "v", badLife) },
	"list":            func(c context.Context, rdb *redis.Client, l, _ string) { rdb.RPush(c, l, "a", "b") },
	"set":             func(c context.Context, rdb *redis.Client, l, _ string) { rdb.SAdd(c, l, "a") },
	"sorted set": func(c context.Context, rdb *redis.Client, l, _ string) {
		rdb.ZAdd(c, l, redis.Z{Member: "a"})
	},
	"stream": func(c context.Context, rdb *redis.Client, l, _ string) {
		rdb.XAdd(c, &redis.XAddArgs{Stream: l, Values: map[string]any{"a": "1"}})
	},
	"hash of a user":       badHash(badLife, "name", "Ada"),
	"big hash of a user":   badBigHash,
	"lock without TTL":     badHash(0, "u:1", "1"),
	"read-write lock":      badHash(badLife, "mode", "read", "u:1", "1"),
	"count that is no one": badHash(badLife, "u:1", "many"),
	"negative count":       badHash(badLife, "u:1", "-1"),
	"two holders":          badHash(badLife, "u:1", "1", "u:2", "1"),
	"token that is a word": func(c context.Context, rdb *redis.Client, _, k string) { rdb.Set(c, k, "word", 0) },
	"token that is a float": func(c context.Context, rdb *redis.Client, _, k string) {
		rdb.Set(c, k, "1.5", badLife)
	},
	"token at its end":     func(c context.Context, rdb *redis.Client, _, k string) { rdb.Set(c, k, int64(math.MaxInt64), 0) },
	"token that is a list": func(c context.Context, rdb *redis.Client, _, k string) { rdb.RPush(c, k, "1") },
}

// badLife is the TTL of foreign keys that have one.
const badLife = time.Hour

// badHash puts a hash at the lock's key.
func badHash(ttl time.Duration, pairs ...any) func(c context.Context, rdb *redis.Client, l, k string) {
	return func(c context.Context, rdb *redis.Client, l, _ string) {
		rdb.HSet(c, l, pairs...)
		if ttl > 0 {
			rdb.PExpire(c, l, ttl)
		}
	}
}

// G14, need 20: something that is no such lock stands at the key. That is ErrKeyConflict and not
// "busy", at once, and nothing is changed.
func TestForeignKeysAreConflicts(t *testing.T) {
	t.Parallel()
	for name, put := range badForeigners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, key := redistest.Shared(t).Client(t), redistest.Key(t)
			token := "redisson_lock_token:{" + key + "}"
			put(t.Context(), rdb, key, token)
			before := badDump(t, rdb, key, token)
			lock := rlock.New(conductClient(t, redistest.Shared(t).Addr(), nil), key)
			for call, do := range map[string]func(ctx context.Context) error{
				"Lock":    func(ctx context.Context) error { _, _, err := lock.Lock(ctx); return err },
				"TryLock": func(ctx context.Context) error { _, _, err := lock.TryLock(ctx); return err },
				"Do":      func(ctx context.Context) error { return lock.Do(ctx, badWork) },
			} {
				err := do(conductCtx(t))
				require.ErrorIs(t, err, rlock.ErrKeyConflict, call)
				require.NotErrorIs(t, err, rlock.ErrBusy, call)
				require.NotErrorIs(t, err, rlock.ErrUnavailable, call)
				require.ErrorContains(t, err, fmt.Sprintf("%q", key))
			}
			require.Equal(t, before, badDump(t, rdb, key, token), "nothing was changed")
		})
	}
}

func badWork(context.Context) error { panic("called without the lock") }

func badBigHash(c context.Context, rdb *redis.Client, key, _ string) {
	for i := range 1000 {
		rdb.HSet(c, key, fmt.Sprintf("u:%d", i), "1")
	}
	rdb.PExpire(c, key, badLife)
}

// badDump is everything about the keys: their values, and about when they expire (PEXPIRETIME, which
// would tell exactly, is of Redis 7).
func badDump(t *testing.T, rdb *redis.Client, keys ...string) string {
	t.Helper()
	var all strings.Builder
	for _, key := range keys {
		value, err := rdb.Dump(t.Context(), key).Result()
		if err != nil {
			require.ErrorIs(t, err, redis.Nil)
		}
		left, err := rdb.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		if left > 0 {
			require.InDelta(t, badLife, left, float64(conductLimit))
			left = badLife
		}
		fmt.Fprintf(&all, "%s %q %v\n", key, value, left)
	}
	return all.String()
}

// Break and Inspect look at foreign keys and leave them alone, too.
func TestOperatorsLeaveForeignKeysAlone(t *testing.T) {
	t.Parallel()
	rdb, key := redistest.Shared(t).Client(t), redistest.Key(t)
	badHash(0, "name", "Ada")(t.Context(), rdb, key, "")
	before := badDump(t, rdb, key)
	lock := rlock.New(conductClient(t, redistest.Shared(t).Addr(), nil), key)
	require.ErrorIs(t, lock.Break(conductCtx(t)), rlock.ErrKeyConflict)
	_, err := lock.Inspect(conductCtx(t))
	require.ErrorIs(t, err, rlock.ErrKeyConflict)
	require.Equal(t, before, badDump(t, rdb, key))
}

// faults 5: a time that Redis would take for another one (1.5 ms for 25 minutes), or not take at all,
// is rounded up to a whole millisecond before it is sent. The monitor shows what Redis was told.
func TestTimesAreRoundedUpToMilliseconds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	monitor := server.Monitor(t)
	client := conductClient(t, server.Addr(), &rlock.ClientOptions{Lease: 20*time.Second + 1})
	for name, test := range map[string]struct {
		opts []rlock.Option
		want string
	}{
		"client":    {nil, "20001"},
		"fixed":     {[]rlock.Option{rlock.FixedLease(30*time.Second + 500*time.Microsecond)}, "30001"},
		"exact":     {[]rlock.Option{rlock.FixedLease(30 * time.Second)}, "30000"},
		"the least": {[]rlock.Option{rlock.FixedLease(100 * time.Millisecond)}, "100"},
		"a year":    {[]rlock.Option{rlock.FixedLease(365 * 24 * time.Hour)}, "31536000000"},
	} {
		_, unlock := conductTake(t, conductCtx(t), rlock.New(client, name, test.opts...))
		redistest.Eventually(t, conductLimit, func() bool {
			for _, line := range monitor.Lines() {
				if strings.Contains(line, fmt.Sprintf(`"PEXPIRE" %q %q`, name, test.want)) {
					return true
				}
			}
			return false
		}, name+" is told as "+test.want)
		_ = unlock()
	}
}

// faults 5, need 20: names are bytes. Nothing is decoded, normalised, escaped or taken for a pattern, and on a
// single node every name works.
func TestOddNamesWork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := conductClient(t, server.Addr(), nil)
	names := []string{
		" ", "\x00", "a\x00b", "\r\n", "\xff\xfe", "日本", "é", "e\u0301", "*", "?[x]", "{", "}", "{}", "{}x",
		"}x", "a{", "a{b", "a}b", "a{b}c", "{a}", "{{a}}", "%s%d", `"quoted"`, strings.Repeat("n", 1024),
	}
	var unlocks []func() error
	for _, name := range names {
		lock := rlock.New(client, name)
		require.Equal(t, name, lock.Name())
		held, unlock, err := lock.TryLock(conductCtx(t))
		require.NoError(t, err, "%q is another lock than those before", name)
		unlocks = append(unlocks, unlock)
		hold, err := lock.Held(held)
		require.NoError(t, err)
		info, err := lock.Inspect(conductCtx(t))
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		require.Equal(t, hold.ID, info.Holders[0].ID)
		require.Equal(t, hold.Fence, info.Holders[0].Fence, "%q", name)
	}
	require.ElementsMatch(t, names, conductHeldKeys(t, server), "the key is the name, byte by byte")
	for _, unlock := range unlocks {
		require.NoError(t, unlock())
	}
	require.Empty(t, conductHeldKeys(t, server))
}
