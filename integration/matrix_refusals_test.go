package integration_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// refusal is a state in which Redis answers but refuses requests. Inflict begins it and returns a function
// that ends it.
type refusal struct {
	says    string // in the error; empty where the connection can be gone before it was read
	since   int    // the major version of Redis from which on the server refuses
	final   bool   // not a passing state, as far as anybody can tell: a waiting call returns
	args    []string
	user    string // of the clients
	prepare func(t *testing.T, admin *redis.Client)
	inflict func(t *testing.T, server *redistest.Server, admin *redis.Client) (heal func())
}

var refusals = map[string]refusal{
	"no permission": {says: "NOPERM", final: true, inflict: refusalOf(
		[]any{"ACL", "SETUSER", "default", "-@scripting"}, []any{"ACL", "SETUSER", "default", "+@scripting"})},
	// Its connections are ended as well, so the next ones are refused at authentication.
	"a user that is gone": {says: "WRONGPASS", final: true, user: "locks",
		prepare: func(t *testing.T, admin *redis.Client) { refusalUser(t, admin) },
		inflict: func(t *testing.T, _ *redistest.Server, admin *redis.Client) func() {
			require.NoError(t, admin.Do(context.Background(), "ACL", "DELUSER", "locks").Err())
			return func() { refusalUser(t, admin) }
		}},
	"too few replicas": {says: "NOREPLICAS", since: 7, inflict: refusalOf(
		[]any{"CONFIG", "SET", "min-replicas-to-write", "1"},
		[]any{"CONFIG", "SET", "min-replicas-to-write", "0"})},
	"too many clients": {inflict: refusalTooMany},
	"a script without end": {
		says: "BUSY", args: []string{"--lua-time-limit", "20"}, inflict: refusalBusy,
	},
	// The server sleeps for every key that it reads from its file, so that reading takes 4 s or more.
	"loading": {says: "LOADING", inflict: refusalLoading, prepare: refusalFill, args: []string{
		"--appendonly", "yes", "--appendfsync", "always", "--key-load-delay", "250",
	}},
}

func refusalUser(t *testing.T, admin *redis.Client) {
	require.NoError(t, admin.Do(context.Background(),
		"ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all").Err())
}

// refusalOf is a refusal that one command begins and another ends.
func refusalOf(ill, well []any) func(*testing.T, *redistest.Server, *redis.Client) func() {
	return func(t *testing.T, _ *redistest.Server, admin *redis.Client) func() {
		require.NoError(t, admin.Do(context.Background(), ill...).Err())
		return func() { require.NoError(t, admin.Do(context.Background(), well...).Err()) }
	}
}

// refusalTooMany ends all connections except the administrator's, and accepts no new ones.
func refusalTooMany(t *testing.T, _ *redistest.Server, admin *redis.Client) func() {
	ctx := context.Background()
	require.NoError(t, admin.ConfigSet(ctx, "maxclients", "1").Err())
	for _, kind := range []string{"normal", "pubsub"} {
		require.NoError(t, admin.ClientKillByFilter(ctx, "TYPE", kind, "SKIPME", "yes").Err())
	}
	return func() { require.NoError(t, admin.ConfigSet(ctx, "maxclients", "1000").Err()) }
}

func refusalBusy(t *testing.T, server *redistest.Server, admin *redis.Client) func() {
	opts := server.Options()
	opts.ReadTimeout, opts.MaxRetries = limit, -1
	victim := redis.NewClient(opts)
	ended := make(chan error, 1)
	go func() { ended <- victim.Eval(context.Background(), "while true do end", nil).Err() }()
	redistest.Eventually(t, limit, func() bool {
		err := admin.Ping(context.Background()).Err()
		return err != nil && redis.HasErrorPrefix(err, "BUSY")
	}, "the script does not run")
	return func() {
		require.NoError(t, admin.ScriptKill(context.Background()).Err())
		require.Error(t, <-ended)
		require.NoError(t, victim.Close())
	}
}

func refusalFill(t *testing.T, admin *redis.Client) {
	pipe := admin.Pipeline()
	for i := range 15_000 {
		pipe.Set(context.Background(), fmt.Sprint("filler", i), i, 0)
	}
	_, err := pipe.Exec(context.Background())
	require.NoError(t, err)
}

// refusalLoading restarts the server, which answers LOADING to everything until it has read its file.
func refusalLoading(t *testing.T, server *redistest.Server, admin *redis.Client) func() {
	server.Kill()
	var restart sync.WaitGroup
	restart.Go(server.Restart)
	redistest.Eventually(t, limit, func() bool {
		err := admin.Ping(context.Background()).Err()
		return err != nil && redis.HasErrorPrefix(err, "LOADING")
	}, "the server does not load")
	return restart.Wait
}

// refusalAdmin is a client with one connection, made before anything is refused, which repeats nothing.
func refusalAdmin(t *testing.T, server *redistest.Server) *redis.Client {
	t.Helper()
	opts := server.Options()
	opts.PoolSize, opts.MaxRetries = 1, -1
	admin := redis.NewClient(opts)
	t.Cleanup(func() { _ = admin.Close() })
	require.NoError(t, admin.Ping(context.Background()).Err())
	return admin
}

// Need 21: Redis refuses for longer than a renewal period and less than validity: new attempts return the
// refusal, waits go on unless it looks final, and no hold is lost.
func TestARefusalThatPassesCostsNoHold(t *testing.T) {
	for name, r := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.WithArgs(r.args...))
			if major, _ := server.Version(); major < r.since {
				return
			}
			admin := refusalAdmin(t, server)
			if r.prepare != nil {
				r.prepare(t, admin)
			}
			opts := server.Options()
			if r.user != "" {
				opts.Username, opts.Password = r.user, "secret"
			}
			rdb := redis.NewClient(opts)
			t.Cleanup(func() { _ = rdb.Close() })
			client, events := newClient(t, rdb, rlock.ClientOptions{Lease: 9 * time.Second})
			other, _ := newClient(t, rdb, rlock.ClientOptions{})
			kept, wanted := rlock.New(client, "kept"), rlock.New(other, "wanted")
			ctx, unlock := held(t, kept)
			fence := alive(t, kept, ctx).Fence
			events.renewedAgain(t, 1, kept.Name())

			heal := r.inflict(t, server, admin)
			_, _, err := wanted.TryLock(context.Background())
			refused(t, err, r.says)
			patient := make(chan outcome, 1)
			go func() {
				ctx, unlock, err := locked(context.Background(), wanted)
				patient <- outcome{ctx, unlock, err}
			}()
			redistest.Eventually(t, limit, func() bool { return len(events.failures(kept.Name())) > 0 },
				"no renewal was refused")
			alive(t, kept, ctx)
			if r.final {
				refused(t, (<-patient).err, r.says)
			}
			heal()
			if !r.final {
				require.NoError(t, arrives(t, patient).unlock())
			}
			events.renewedAgain(t, 1, kept.Name())
			require.Equal(t, fence, alive(t, kept, ctx).Fence)
			require.NoError(t, unlock())
			require.Empty(t, events.losses())
			require.False(t, exists(t, server, kept.Name()) || exists(t, server, wanted.Name()))
		})
	}
}

// refused checks that an error says that Redis is not available, and why.
func refused(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, rlock.ErrBusy, "nobody said that it is held")
	require.ErrorContains(t, err, says)
}

// Redis refuses for good: the hold ends when its validity ends, not before, and its error names the refusal.
// When Redis works again the lock is free as soon as the lease has ended.
func TestARefusalForGoodEndsTheHoldInTime(t *testing.T) {
	// The script of renewals continues when one lock fails, and cannot say why.
	for name, says := range map[string]string{
		"no permission": "NOPERM", "too few replicas": "", "a script without end": "BUSY",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := refusals[name]
			server := redistest.Start(t, redistest.WithArgs(r.args...))
			if major, _ := server.Version(); major < r.since {
				return
			}
			admin := refusalAdmin(t, server)
			client, events := newClient(t, server.Client(t), rlock.ClientOptions{
				Lease: 1800 * time.Millisecond, ReleaseTimeout: time.Second,
			})
			lock := rlock.New(client, "refused")
			ctx, unlock := held(t, lock)
			events.renewedAgain(t, 1, lock.Name())
			heal := r.inflict(t, server, admin)
			until := alive(t, lock, ctx).ValidUntil
			redistest.Receive(t, limit, ctx.Done(), "the hold is believed in although nothing confirms it")
			require.False(t, time.Now().Before(until.Add(-50*time.Millisecond)), "it was given up while it was valid")
			var lost *rlock.LostError
			require.True(t, errors.As(context.Cause(ctx), &lost), "%v", context.Cause(ctx))
			require.Equal(t, rlock.LossExpired, lost.Reason)
			require.Error(t, lost.Err, "it says what was refused")
			require.ErrorContains(t, lost, says)
			require.ErrorIs(t, unlock(), rlock.ErrLost)
			heal()
			_, unlock = held(t, lock)
			require.NoError(t, unlock())
		})
	}
}
