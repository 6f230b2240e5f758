package integration_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A password is replaced as the page for operators says, and costs no hold: both are valid for a while, and new
// connections ask for the one that counts.
func TestANewPasswordCostsNoHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	user := func(rules ...any) {
		args := append([]any{"ACL", "SETUSER", "locks"}, rules...)
		require.NoError(t, admin.Do(context.Background(), args...).Err())
	}
	user("on", ">old", "~*", "&*", "+@all")
	var password atomic.Value
	password.Store("old")
	opts := server.Options()
	opts.CredentialsProvider = func() (string, string) { return "locks", password.Load().(string) }
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	client, events := newClient(t, rdb, rlock.ClientOptions{Lease: 6 * time.Second})
	lock := rlock.New(client, "rotated")
	ctx, unlock := held(t, lock)
	events.renewedAgain(t, 1, lock.Name())

	user(">new")
	password.Store("new")
	user("<old")
	events.renewedAgain(t, 1, lock.Name()) // on the connection that there was
	require.NoError(t, admin.Do(context.Background(), "CLIENT", "KILL", "USER", "locks").Err())
	events.renewedAgain(t, 1, lock.Name()) // on a new one
	alive(t, lock, ctx)
	require.NoError(t, unlock())
	require.Empty(t, events.losses())

	password.Store("old") // the control
	require.NoError(t, admin.Do(context.Background(), "CLIENT", "KILL", "USER", "locks").Err())
	_, _, err := lock.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "Redis refused the credentials")
}
