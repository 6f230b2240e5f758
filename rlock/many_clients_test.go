package rlock_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The log warns of a program that makes a client for each request, and closes none. (defect G35)
func TestManyClientsOfOneServerAreLogged(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	log := &logged{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	for range 12 {
		c, err := rlock.NewClient(rdb, &rlock.ClientOptions{Logger: logger})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	const text = "ten live clients of one server"
	require.Eventually(t, func() bool { return len(log.warnings(text)) > 0 }, 10*time.Second, time.Millisecond)
	require.Len(t, log.warnings(text), 1)
}
