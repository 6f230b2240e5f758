package leader_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// asUser returns a client of a server that is a user with a password, and its log.
func asUser(t *testing.T, server *redistest.Server, password string) (*rlock.Client, *textlog.Log) {
	t.Helper()
	opts, log := server.Options(), new(textlog.Log)
	opts.Username, opts.Password = "candidate", password
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: time.Second, Logger: log.Logger(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client, log
}

func rights(t *testing.T, server *redistest.Server, rules ...any) {
	t.Helper()
	args := append([]any{"ACL", "SETUSER", "candidate"}, rules...)
	require.NoError(t, server.Client(t).Do(t.Context(), args...).Err())
}

func idle(term context.Context) error {
	<-term.Done()
	return nil
}

// A candidate with a wrong password is told at once (defect F13). It was silent for as long as its context allowed.
func TestRunOfACandidateThatRedisRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rights(t, server, "reset", "on", ">secret", "~*", "&*", "+@all")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, log := asUser(t, server, "wrong")
	for kind, of := range kinds {
		e := leader.New(of(client, "refused:"+kind))
		err := e.Run(ctx, idle)
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		var denied *luacall.DeniedError
		require.ErrorAs(t, err, &denied)
		require.ErrorContains(t, err, "Redis denies access: Redis refused the credentials: WRONGPASS")
		require.Equal(t, err, e.Err())
		require.NotContains(t, err.Error(), "secret")
	}
	require.NoError(t, client.Close()) // which waits for the log
	require.Equal(t, len(kinds), log.Count("holdfast: leader: the campaign failed"))
}

// The same for a candidate of a redlock that a majority of the nodes refuses.
func TestRunOfACandidateThatAQuorumRefuses(t *testing.T) {
	t.Parallel()
	var nodes []redis.UniversalClient
	for range 3 {
		opts := redistest.Start(t).Options()
		if len(nodes) > 0 {
			opts.Username, opts.Password = "nobody", "wrong"
		}
		rdb := redis.NewClient(opts)
		t.Cleanup(func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	client, err := redlock.NewClient(nodes, &redlock.Options{
		ClientOptions:  rlock.ClientOptions{Logger: slog.New(slog.DiscardHandler)},
		NodeTimeout:    3 * time.Second,
		NoRestartGuard: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = leader.New(redlock.New(client, "refused")).Run(ctx, idle)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "WRONGPASS")
}

// A candidate that Redis accepted and refuses later goes on (defect F13). The log says when that begins and when it
// ends, be it that another leads then.
func TestACandidateThatIsRefusedLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rights(t, server, "reset", "on", ">secret", "~*", "&*", "+@all")
	client, log := asUser(t, server, "secret")
	e := leader.New(rlock.New(client, "leader"), leader.Value("a:1"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	terms, done := make(chan struct{}, 10), make(chan error, 1)
	go func() {
		done <- e.Run(ctx, func(term context.Context) error {
			terms <- struct{}{}
			return idle(term)
		})
	}()
	<-terms
	require.NoError(t, e.Err())
	const fails, answers = "holdfast: leader: the campaign failed", "holdfast: leader: the campaign is answered again"

	rights(t, server, "-evalsha", "-eval")
	redistest.Eventually(t, time.Minute, func() bool { return e.Err() != nil }, "the refusal is told")
	var denied *luacall.DeniedError
	require.ErrorAs(t, e.Err(), &denied)
	redistest.Eventually(t, time.Minute, func() bool { return log.Count(fails) == 1 }, "it is logged")
	first := e.Err()
	redistest.Eventually(t, time.Minute, func() bool { return e.Err() != first }, "it campaigns again")
	require.Equal(t, 1, log.Count(fails), "once")
	require.Zero(t, log.Count(answers))

	other, err := rlock.NewClient(server.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	_, unlock, err := rlock.New(other, "leader").Lock(t.Context())
	require.NoError(t, err)
	rights(t, server, "+evalsha", "+eval")
	redistest.Eventually(t, time.Minute, func() bool { return e.Err() == nil }, "that Redis answers is told")
	require.Empty(t, terms, "another one leads")
	require.NoError(t, unlock())
	<-terms
	stop()
	require.True(t, errors.Is(<-done, context.Canceled))
	require.NoError(t, client.Close())
	require.Equal(t, 1, log.Count(fails))
	require.Equal(t, 1, log.Count(answers))
}
