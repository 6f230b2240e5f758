package scaletest_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// limit bounds waits for what must happen; how soon it does is not what is asserted.
const limit = 20 * time.Second

// newClient is a client of the server at addr, which must have no holds left when the test ends.
func newClient(t *testing.T, addr string, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
	opts.Logger = slog.New(slog.DiscardHandler)
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("a hold is left over: %v", err)
		}
		_ = rdb.Close()
	})
	return client
}

// inBubble runs a test in virtual time, on a simulated Redis on whose network nothing takes time.
func inBubble(t *testing.T, opts rlock.ClientOptions, test func(*testing.T, *simredis.Server, *rlock.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		opts.Logger = slog.New(slog.DiscardHandler)
		client, err := rlock.NewClient(server.Client(), &opts)
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		test(t, server, client)
	})
}

// hold is a level that a test holds.
type hold struct {
	ctx    context.Context
	unlock func() error
}

func take(t *testing.T, ctx context.Context, lock *rlock.Lock) hold {
	t.Helper()
	held, unlock, err := lock.Lock(ctx)
	require.NoError(t, err)
	return hold{held, unlock}
}
