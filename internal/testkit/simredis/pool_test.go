package simredis_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect B14: Close takes ReleaseTimeout plus a moment for the observer, even if the pool has no free place. It is
// tested here because go-redis keeps the timer of a call that waits for a place for the rest of the process, and
// outside of this bubble that timer is unusable: no other test of this package waits for a place.
func TestCloseIsBoundedWithoutAPlaceInThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		to := server.Options()
		to.PoolSize = 1
		rdb := redis.NewClient(to)
		defer func() { _ = rdb.Close() }()
		client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
			ReleaseTimeout: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		_, _, err = rlock.New(client, "held").Lock(context.Background())
		require.NoError(t, err)
		server.Freeze()
		go func() { _, _, _ = rlock.New(client, "other").Lock(context.Background()) }()
		synctest.Wait()
		began := time.Now()
		require.ErrorContains(t, client.Close(), "held")
		require.LessOrEqual(t, time.Since(began), 300*time.Millisecond)
		server.Thaw()
	})
}
