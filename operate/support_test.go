package operate_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) {
	redistest.ServeExamples(1)
	redistest.Main(m)
}

// limit bounds every wait for something that has to happen. Nothing is measured against it.
const limit = 30 * time.Second

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// clientOn makes a client that logs nothing.
func clientOn(t *testing.T, rdb redis.UniversalClient, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	var o rlock.ClientOptions
	if opts != nil {
		o = *opts
	}
	o.Logger = slog.New(slog.DiscardHandler)
	client, err := rlock.NewClient(rdb, &o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// take holds a lock until its client is closed.
func take(t testing.TB, ctx context.Context, l lock.Locker) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	return held, unlock
}

// userOf makes a user with all rights but some, and options for a client that is this user.
func userOf(t *testing.T, server *redistest.Server, rules ...any) *redis.Options {
	t.Helper()
	args := append([]any{"ACL", "SETUSER", "locks", "reset", "on", ">secret", "~*", "&*", "+@all"}, rules...)
	require.NoError(t, server.Client(t).Do(t.Context(), args...).Err())
	opts := server.Options()
	opts.Username, opts.Password = "locks", "secret"
	return opts
}
