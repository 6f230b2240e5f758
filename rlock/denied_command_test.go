package rlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// PEXPIRE comes after the first write. The error of a user who may not run it names it (defect F25): it named DEL, by
// which the write was taken back, or no command. A user of plain locks need not be allowed to run DEL, so that failed
// as well, and the lock stood for ever.
func TestARefusalAfterTheFirstWriteNamesItsCommandAndLeavesNothing(t *testing.T) {
	t.Parallel()
	lockOf := func(t *testing.T, rdb redis.UniversalClient, of func(c *rlock.Client) *rlock.Lock) rlock.Locker {
		return of(deniedClient(t, rdb))
	}
	for name, test := range map[string]struct {
		rules []any
		lock  func(t *testing.T, rdb redis.UniversalClient) rlock.Locker
	}{
		"rlock": {[]any{"-del"}, func(t *testing.T, rdb redis.UniversalClient) rlock.Locker {
			return lockOf(t, rdb, func(c *rlock.Client) *rlock.Lock { return rlock.New(c, "l") })
		}},
		"multilock": {[]any{"-del"}, func(t *testing.T, rdb redis.UniversalClient) rlock.Locker {
			c := deniedClient(t, rdb)
			return multilock.New([]*rlock.Lock{rlock.New(c, "l"), rlock.New(c, "m")})
		}},
		"redlock": {[]any{"-del"}, func(t *testing.T, rdb redis.UniversalClient) rlock.Locker {
			c, err := redlock.NewClient([]redis.UniversalClient{rdb}, &redlock.Options{
				ClientOptions: *conductQuiet(nil), NodeTimeout: 3 * time.Second, NoRestartGuard: true,
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = rdb.Close() })
			t.Cleanup(func() { _ = c.Close() })
			return redlock.New(c, "l")
		}},
		"fairlock": {nil, func(t *testing.T, rdb redis.UniversalClient) rlock.Locker {
			return lockOf(t, rdb, func(c *rlock.Client) *rlock.Lock { return fairlock.New(c, "l") })
		}},
		"writer": {nil, func(t *testing.T, rdb redis.UniversalClient) rlock.Locker {
			return lockOf(t, rdb, func(c *rlock.Client) *rlock.Lock { return rwlock.New(c, "l").Write() })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			lock := test.lock(t, redis.NewClient(deniedUser(t, server, append(test.rules, "-pexpire")...)))
			_, _, err := lock.TryLock(conductCtx(t))
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			require.ErrorContains(t, err, "the user has no right to run PEXPIRE")
			left, err := server.Client(t).Exists(t.Context(), "l", "m").Result()
			require.NoError(t, err)
			require.Zero(t, left, "no lock without expiry")
		})
	}
}
