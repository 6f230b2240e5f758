package rlock_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// lookers are calls that ask Redis once.
func lookers(client *rlock.Client) map[string]func(ctx context.Context) error {
	lock := rlock.New(client, "n")
	return map[string]func(ctx context.Context) error{
		"List": func(ctx context.Context) (last error) {
			for _, err := range rlock.List(ctx, client, "*") {
				last = err
			}
			return last
		},
		"List of one": func(ctx context.Context) (last error) {
			for _, err := range rlock.List(ctx, client, "n") {
				last = err
			}
			return last
		},
		"Leaks": func(ctx context.Context) (last error) {
			for _, err := range rlock.Leaks(ctx, client, "*") {
				last = err
			}
			return last
		},
		"Free": func(ctx context.Context) error {
			_, err := rlock.Free(ctx, client, rlock.Leak{Key: "n"})
			return err
		},
		"TryLock": func(ctx context.Context) error { _, _, err := lock.TryLock(ctx); return err },
		"Inspect": func(ctx context.Context) error { _, err := lock.Inspect(ctx); return err },
		"Break":   lock.Break,
		"SetCapacity": func(ctx context.Context) error {
			return semaphore.New(client, "s").SetCapacity(ctx, 1)
		},
		"Available": func(ctx context.Context) error {
			_, err := semaphore.NewCounting(client, "c").Available(ctx)
			return err
		},
		"latch": func(ctx context.Context) error { return latch.New(client, "l").Set(ctx, 1) },
	}
}

// A server that does not speak TLS keeps a handshake waiting. That is no end of the caller's context, and Redis is what
// is unavailable (defect F18).
func TestAHandshakeThatHangsIsNoEndOfTheCallersContext(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{
		Addr: redistest.Shared(t).Addr(), TLSConfig: &tls.Config{InsecureSkipVerify: true},
	})
	client := listClient(t, rdb, &rlock.ClientOptions{Lease: 600 * time.Millisecond, ReleaseTimeout: 200 * time.Millisecond})
	t.Cleanup(func() { _ = rdb.Close() })
	for name, call := range lookers(client) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call(conductCtx(t))
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, context.Canceled)
		})
	}
}

// The end of the caller's context is told as such, with its cause (defect F18).
func TestAListingThatItsContextEnds(t *testing.T) {
	t.Parallel()
	client := listClient(t, redistest.Shared(t).Client(t), nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(context.DeadlineExceeded)
	for _, name := range []string{"List", "List of one", "Leaks", "Free"} {
		err := lookers(client)[name](ctx)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.NotErrorIs(t, err, rlock.ErrUnavailable, name)
	}
}

// A Redis that refuses who lists is called by what it is (defect F18).
func TestAListingThatIsDeniedSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.ConfigSet(t.Context(), "requirepass", "secret").Err())
	for name, test := range map[string]struct{ password, says string }{
		"no password":    {"", "NOAUTH"},
		"wrong password": {"mistaken", "WRONGPASS"},
	} {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Password: test.password})
		t.Cleanup(func() { _ = rdb.Close() })
		client := listClient(t, rdb, nil)
		for _, call := range []string{"List", "List of one", "Leaks", "Free"} {
			err := lookers(client)[call](conductCtx(t))
			require.ErrorIs(t, err, rlock.ErrUnavailable, name)
			require.ErrorContains(t, err, "redis denies access", name)
			require.ErrorContains(t, err, test.says, name)
			require.NotContains(t, err.Error(), "unavailable")
			require.NotContains(t, err.Error(), "mistaken")
		}
	}
}
