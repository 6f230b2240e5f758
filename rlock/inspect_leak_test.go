package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A lock that has no expiry is what operators look for when a name is stuck: nobody waits for it, the error
// says what it is and what to do, Inspect shows its holder, and Break ends it. All of them answered that the
// key is used for something else, and it had to be deleted by hand (defect C4).
func TestALockWithoutExpiryIsSeenAndBroken(t *testing.T) {
	t.Parallel()
	const holder = "2b3f4a5c-0000-4000-8000-000000000000:1"
	for name, fields := range map[string][]any{
		"of one level":   {holder, "1"},
		"of more levels": {holder, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			rdb, key := server.Client(t), redistest.Key(t)
			lock := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), key)
			require.NoError(t, rdb.HSet(t.Context(), key, fields...).Err())
			before := badDump(t, rdb, key)
			for call, do := range map[string]func() error{
				"Lock":    func() error { _, _, err := lock.Lock(conductCtx(t)); return err },
				"TryLock": func() error { _, _, err := lock.TryLock(conductCtx(t)); return err },
			} {
				err := do()
				require.ErrorIs(t, err, rlock.ErrKeyConflict, call)
				require.NotErrorIs(t, err, rlock.ErrBusy, call)
				for _, word := range []string{"without expiry", "Inspect", "Break"} {
					require.ErrorContains(t, err, word, call)
				}
			}
			require.Equal(t, before, badDump(t, rdb, key), "nothing was changed")

			info := inspect(t, lock)
			require.Len(t, info.Holders, 1)
			require.Equal(t, holder, info.Holders[0].ID)
			require.Negative(t, info.Holders[0].TTL, "it never ends")
			require.NoError(t, lock.Break(conductCtx(t)))
			require.ErrorIs(t, lock.Break(conductCtx(t)), rlock.ErrNotHeld)
			require.NoError(t, timeLock(t, t.Context(), lock).unlock())
		})
	}
}

// A hold of this client whose expiry somebody took away is no leak: it is renewed, and ends as any other.
func TestAHoldWhoseExpiryWasTakenAwayEndsByUnlock(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	lock := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), key)
	held := timeLock(t, t.Context(), lock)
	require.True(t, rdb.Persist(context.Background(), key).Val())
	info := inspect(t, lock)
	require.Len(t, info.Holders, 1)
	require.True(t, info.Holders[0].Mine)
	require.Equal(t, time.Duration(-1), info.Holders[0].TTL)
	require.NoError(t, held.unlock())
	require.Zero(t, rdb.Exists(context.Background(), key).Val())
}
