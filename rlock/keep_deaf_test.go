package rlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/rlock"
)

// Defect G45: a client whose user may not listen to those who want its locks keeps none, and says so once.
func TestAClientThatMayNotListenKeepsNothing(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]any{
		"no channel":   {"resetchannels", "&redisson_lock__channel:*"},
		"no SUBSCRIBE": {"-subscribe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			rdb := redis.NewClient(deniedUser(t, server, rules...))
			t.Cleanup(func() { _ = rdb.Close() })
			log := new(textlog.Log)
			client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
				Lease: keepLease, Logger: log.Logger(),
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			lock := rlock.New(client, "n", rlock.Keep(keepFor))
			const line = "no lock is kept"
			redistest.Eventually(t, time.Minute, func() bool {
				require.NoError(t, timeLock(t, t.Context(), lock).unlock())
				return log.Count(line) > 0
			}, "the log does not say that no lock is kept")
			redistest.Eventually(t, time.Minute, func() bool { return client.Stats().Kept == 0 }, "a lock is kept")
			for range 20 {
				require.NoError(t, timeLock(t, t.Context(), lock).unlock())
				require.Zero(t, client.Stats().Kept)
				require.Zero(t, server.Client(t).Exists(t.Context(), "n").Val())
			}
			require.Equal(t, 1, log.Count(line))
			require.Equal(t, 1, log.Count("+subscribe &holdfast_wanted:*"))
		})
	}
}
