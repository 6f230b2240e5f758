package crashpoints_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/pglock"
)

// postgresPace is for what a connection to PostgreSQL costs on a busy machine: a process there, and several round trips.
const postgresPace = 3

// postgresPoll is longer than a client's first subscription takes there, which waits for such a connection: a waiter
// that asks before it was confirmed never comes to that point.
const postgresPoll = 5 * time.Second

// PostgreSQL is not told how many levels a hold has.
var postgresSite = site{
	start: startPostgres, dial: dialPostgres, lacks: []crash.Point{crash.Count.Send, crash.Count.Reply},
	pace: postgresPace, poll: postgresPoll, lazy: true,
}

// postgresServer is a database of a pair's own, on a server of its own if that is to be killed.
type postgresServer struct {
	t      *testing.T
	server *pgtest.Server
	url    string
}

func startPostgres(t *testing.T, a action) server {
	t.Helper()
	s := &postgresServer{t: t}
	if a == restart {
		s.server = pgtest.Start(t)
		s.url = s.server.URL()
	} else {
		s.url = pgtest.Shared(t).Database(t)
	}
	all, err := pglock.Migrations("")
	require.NoError(t, err)
	for _, m := range all {
		s.ask(m.SQL)
	}
	return s
}

func dialPostgres(addr string) (*dialled, error) {
	pool, err := pgxpool.New(context.Background(), addr)
	if err != nil {
		return nil, err
	}
	return &dialled{
		client: func(lease time.Duration) (client, error) {
			return pglock.NewClient(pool, &pglock.Options{
				Lease: lease, MaxPoll: postgresPoll, ReleaseTimeout: postgresPace * releaseTimeout,
				Logger: slog.New(slog.DiscardHandler),
			})
		},
		hangUp: pool.Close,
	}, nil
}

// ask returns the rows of a query.
func (s *postgresServer) ask(sql string) []string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	require.NoError(s.t, err)
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	require.NoError(s.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return list
}

func (s *postgresServer) addr() string { return s.url }

// empty implements [server]: other pairs have databases on the same server, so that it goes on.
func (s *postgresServer) empty(gone func()) {
	s.ask("TRUNCATE holdfast_lock")
	gone()
}

func (s *postgresServer) restart(gone func()) {
	s.server.Crash()
	gone()
	time.Sleep(away) // the fault itself: some calls find nobody
	s.server.Restart()
}

const (
	ours      = " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	listening = ours + " AND (query LIKE 'LISTEN%' OR query LIKE '-- ping%')"
)

func (s *postgresServer) deafen() int {
	return len(s.ask("SELECT pg_terminate_backend(pid)::text" + listening))
}

// forget implements [server]: the sessions.
func (s *postgresServer) forget() { s.ask("SELECT pg_terminate_backend(pid)::text" + ours) }

func (s *postgresServer) held() bool { return len(s.left()) > 0 }

func (s *postgresServer) left() []string {
	return s.ask("SELECT name FROM holdfast_lock WHERE until > clock_timestamp()")
}

func (s *postgresServer) listened() []string { return s.ask("SELECT pid::text" + listening) }
