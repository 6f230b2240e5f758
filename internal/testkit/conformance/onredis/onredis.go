// Package onredis makes clients on Redis for the conformance suite, whose traffic is counted.
package onredis

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Client makes a client, quiet by default, whose traffic is counted. It is closed with the test, whatever it still
// holds.
func Client(t testing.TB, addr string, sent *redistest.Meter, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: sent.Dial})
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		if err := rdb.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return client
}
