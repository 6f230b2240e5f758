package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

func TestMain(m *testing.M) {
	role.Play()
	pgtest.Main(m)
}

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = 2 * time.Minute

var quiet = slog.New(slog.DiscardHandler)

// unpolled is a poll interval that is longer than any test.
const unpolled = 10 * patience

// database makes a database with the table of locks, on the server that the tests share.
func database(t testing.TB) string {
	t.Helper()
	of := pgtest.Shared(t).Database(t)
	migrate(t, of)
	return of
}

func migrate(t testing.TB, of string) {
	t.Helper()
	all, err := pglock.Migrations("")
	require.NoError(t, err)
	for _, m := range all {
		pgtest.Run(t, of, m.SQL)
	}
}

// client makes a client, with a pool of its own, that is closed with the test.
func client(t testing.TB, of string, opts pglock.Options) *pglock.Client {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), of)
	require.NoError(t, err)
	if opts.Logger == nil {
		opts.Logger = quiet
	}
	c, err := pglock.NewClient(pool, &opts)
	require.NoError(t, err)
	pool.Close()
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func take(t testing.TB, l *lock.Lock) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(within(t))
	require.NoError(t, err)
	return held, unlock
}

// taken takes a lock and gives it back.
func taken(t testing.TB, l *lock.Lock) {
	t.Helper()
	_, unlock := take(t, l)
	require.NoError(t, unlock())
}

// waiter is a call that waits for a lock, and gives it back.
func waiter(t testing.TB, l *lock.Lock) (done <-chan error) {
	t.Helper()
	ctx, got := within(t), make(chan error, 1)
	go func() {
		_, unlock, err := l.Lock(ctx)
		got <- errors.Join(err, unlock())
	}()
	return got
}

// loss waits for the end of a hold, and returns its loss.
func loss(t testing.TB, held context.Context) *lock.LostError {
	t.Helper()
	await(t, held.Done(), "the end of a hold")
	var lost *lock.LostError
	require.ErrorAs(t, context.Cause(held), &lost)
	return lost
}

func fence(t testing.TB, l *lock.Lock, held context.Context) int64 {
	t.Helper()
	hold, err := l.Held(held)
	require.NoError(t, err)
	return hold.Fence
}

func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	return servers.Receive(t, patience, from, what)
}

func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	pgtest.Eventually(t, condition, what)
}

// isFree waits until nobody has a lock.
func isFree(t testing.TB, of, name string) {
	t.Helper()
	eventually(t, func() bool {
		return pgtest.Run(t, of, "SELECT count(*) FROM holdfast_lock WHERE until > clock_timestamp() AND name = '"+
			name+"'") == "0"
	}, "the lock is free")
}

// listens waits until the row says that somebody listens for a release.
func listens(t testing.TB, of, name string) {
	t.Helper()
	eventually(t, func() bool {
		return pgtest.Run(t, of, "SELECT wanted > clock_timestamp() FROM holdfast_lock WHERE name = '"+name+"'") == "t"
	}, "the waiter listens")
}
