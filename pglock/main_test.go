package pglock_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

func TestMain(m *testing.M) {
	role.Play()
	all, err := pglock.Migrations("")
	if err != nil {
		panic(err)
	}
	pgtest.ServeExamples(script(all))
	pgtest.Main(m)
}

// noContext is the context that a careless caller gives.
var noContext context.Context

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = holding.Patience

// meter counts what is written to the connections that it makes.
type meter struct{ writes atomic.Int64 }

func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &metered{conn, m}, nil
}

type metered struct {
	net.Conn
	of *meter
}

func (m *metered) Write(p []byte) (int, error) {
	m.of.writes.Add(1)
	return m.Conn.Write(p)
}

// database makes a database with the table of locks, on the server that the tests share.
func database(t testing.TB) string {
	t.Helper()
	url := pgtest.Shared(t).Database(t)
	migrate(t, url)
	return url
}

func migrate(t testing.TB, url string) {
	t.Helper()
	pgtest.Run(t, url, tableOf(t, ""))
}

// tableOf are the statements that make a table.
func tableOf(t testing.TB, table string) string {
	t.Helper()
	all, err := pglock.Migrations(table)
	require.NoError(t, err)
	return script(all)
}

func script(all []pglock.Migration) (text string) {
	for _, m := range all {
		text += m.SQL
	}
	return text
}

// pool is the application's.
func pool(t testing.TB, url string, adapt ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	for _, fn := range adapt {
		fn(config)
	}
	p, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// client makes a client that is closed with the test, whatever it still holds.
func client(t testing.TB, of *pgxpool.Pool, opts pglock.Options) *pglock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	c, err := pglock.NewClient(of, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// two are two clients, as of two processes, of a new database.
func two(t testing.TB, opts pglock.Options) (url string, a, b *pglock.Client) {
	t.Helper()
	url = database(t)
	of := pool(t, url)
	return url, client(t, of, opts), client(t, of, opts)
}

// What the tests of other stores do, too.
var within, taken, ended = holding.Within, holding.Taken, holding.Ended

func take(t testing.TB, ctx context.Context, l *lock.Lock) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	return held, unlock
}

// await receives what a goroutine sends.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("not in time: %s", what)
		panic("unreachable")
	}
}

// session is a connection of a test, for transactions that stay open.
func session(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(within(t), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
