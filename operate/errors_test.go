package operate_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// lookers are calls that ask Redis once.
func lookers(client *rlock.Client) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"List": func(ctx context.Context) (last error) {
			for _, err := range operate.List(ctx, client, "*") {
				last = err
			}
			return last
		},
		"List of one": func(ctx context.Context) (last error) {
			for _, err := range operate.List(ctx, client, "n") {
				last = err
			}
			return last
		},
		"Leaks": func(ctx context.Context) (last error) {
			for _, err := range operate.Leaks(ctx, client, "*") {
				last = err
			}
			return last
		},
		"Free": func(ctx context.Context) error {
			_, err := operate.Free(ctx, client, lock.Leak{Key: "n"})
			return err
		},
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
			err := call(within(t))
			require.ErrorIs(t, err, lock.ErrUnavailable)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, context.Canceled)
		})
	}
}

// The end of the caller's context is told as such, with its cause (defect F18).
func TestAListingThatItsContextEnds(t *testing.T) {
	t.Parallel()
	client := clientOn(t, redistest.Shared(t).Client(t), nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(context.DeadlineExceeded)
	for _, name := range []string{"List", "List of one", "Leaks", "Free"} {
		err := lookers(client)[name](ctx)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.NotErrorIs(t, err, lock.ErrUnavailable, name)
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
		client := clientOn(t, rdb, nil)
		for _, call := range []string{"List", "List of one", "Leaks", "Free"} {
			err := lookers(client)[call](within(t))
			require.ErrorIs(t, err, lock.ErrUnavailable, name)
			require.ErrorContains(t, err, "Redis denies access", name)
			require.ErrorContains(t, err, test.says, name)
			require.NotContains(t, err.Error(), "unavailable")
			require.NotContains(t, err.Error(), "mistaken")
		}
	}
}
