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
	client := clientOn(t, rdb, &rlock.ClientOptions{Lease: 600 * time.Millisecond, ReleaseTimeout: 200 * time.Millisecond})
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
