package rlock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// deniedUser makes a user with all rights but some, and options for a client that is this user.
func deniedUser(t *testing.T, server *redistest.Server, rules ...any) *redis.Options {
	t.Helper()
	args := append([]any{"ACL", "SETUSER", "locks", "reset", "on", ">secret", "~*", "&*", "+@all"}, rules...)
	require.NoError(t, server.Client(t).Do(t.Context(), args...).Err())
	opts := server.Options()
	opts.Username, opts.Password = "locks", "secret"
	return opts
}

func deniedClient(t *testing.T, rdb redis.UniversalClient) *rlock.Client {
	t.Helper()
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, conductQuiet(nil))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Defect D6: a user who lacks a right, or is not let in, gets an error that names the right. It does not call Redis
// unavailable, although it matches that error, and nobody waits for a state that does not pass.
func TestDeniedAccessIsToldAsWhatItIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rules []any
		spoil func(o *redis.Options)
		says  string
	}{
		"no scripts":            {rules: []any{"-evalsha"}, says: "the user has no right to run EVALSHA"},
		"a command of a script": {rules: []any{"-hset"}, says: "the user has no right to run HSET"},
		"another one":           {rules: []any{"-time"}, says: "the user has no right to run TIME"},
		"no such keys":          {rules: []any{"resetkeys", "~other:*"}, says: "the user has no right to one of the keys"},
		"a wrong password": {
			spoil: func(o *redis.Options) { o.Password = "wrong" }, says: "Redis refused the credentials",
		},
		"no such user": {
			spoil: func(o *redis.Options) { o.Username = "nobody" }, says: "Redis refused the credentials",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			opts := deniedUser(t, server, test.rules...)
			if test.spoil != nil {
				test.spoil(opts)
			}
			lock := rlock.New(deniedClient(t, redis.NewClient(opts)), "l")
			for way, take := range map[string]func(context.Context) (context.Context, func() error, error){
				"Lock": lock.Lock, "TryLock": lock.TryLock,
			} {
				_, _, err := take(conductCtx(t)) // which ends before a whole lease would
				errorsOnly(t, err, rlock.ErrUnavailable)
				require.NotErrorIs(t, err, context.DeadlineExceeded, way)
				require.ErrorContains(t, err, `holdfast: lock "l": Redis denies access: `+test.says+": ")
				require.NotContains(t, err.Error(), "unavailable")
				var said redis.Error
				require.True(t, errors.As(err, &said), "what the server said is there too")
			}
		})
	}
}

// Defect D6: the same on a cluster, where the map of the slots is asked for first.
func TestACallerWhomAClusterDoesNotLetIn(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client := deniedClient(t, redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: lab.Addrs(), Username: "nobody", Password: "wrong",
	}))
	_, _, err := rlock.New(client, "l").Lock(conductCtx(t))
	errorsOnly(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "Redis refused the credentials")
}

// Defect D6: a hold whose owner loses the right to renew it is lost when its lease is over, and says why.
func TestAHoldWhoseRenewalIsDeniedSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := deniedUser(t, server)
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, conductQuiet(&rlock.ClientOptions{Lease: slotsLease}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	held, unlock := conductTake(t, conductCtx(t), rlock.New(client, "l"))
	require.NoError(t, server.Client(t).Do(t.Context(), "ACL", "SETUSER", "locks", "-evalsha").Err())
	<-held.Done() // bounded by its lease
	require.ErrorIs(t, context.Cause(held), rlock.ErrLost)
	require.ErrorContains(t, context.Cause(held), "the user has no right to run EVALSHA")
	require.ErrorIs(t, unlock(), rlock.ErrLost)
}
