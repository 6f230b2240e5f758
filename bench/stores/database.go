package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

// database is the server of all scenarios, with its defaults but for what counts. It waits for the disk.
type database struct {
	t       testing.TB
	server  *pgtest.Server
	bouncer *pgtest.Bouncer // before it, in transaction mode
	admin   *pgx.Conn       // to a database in which nothing else happens
	version string
}

func start(ctx context.Context, t testing.TB) (db *database, err error) {
	server := pgtest.Start(t, "fsync=on", "max_connections=500", "shared_preload_libraries=pg_stat_statements",
		"pg_stat_statements.track_planning=on")
	db = &database{t: t, server: server, bouncer: pgtest.StartBouncer(t, server, "transaction")}
	if db.admin, err = pgx.Connect(ctx, server.URL()); err != nil {
		return nil, err
	}
	_, err = db.admin.Exec(ctx, "CREATE EXTENSION pg_stat_statements")
	if err == nil {
		err = db.admin.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&db.version)
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

func (db *database) close() error { return db.admin.Close(context.Background()) }

// added tells what the relay of a distance really adds to a round trip.
func (db *database) added(ctx context.Context, d time.Duration) (text string, err error) {
	relay, err := distance.Open(d, []string{db.server.Addr()})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()
	far, err := pgx.Connect(ctx, via(db.server.URL(), relay.Addrs()[0]))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, far.Close(ctx)) }()
	const asks = 100
	near := func() error { return db.admin.Ping(ctx) }
	got, err := distance.Compare(near, func() error { return far.Ping(ctx) }, asks)
	return fmt.Sprintf("%s: the relay really adds %v to a round trip (99 %% of them: at most %v)",
		distance.Name(d), got.P50.Round(time.Microsecond), got.P99.Round(time.Microsecond)), err
}

// via is a connection string with another address.
func via(to, addr string) string {
	u, err := url.Parse(to)
	if err != nil {
		panic(err) // the test kit made it
	}
	u.Host = addr
	return u.String()
}

// spent is what the server has done for the clients of one database.
type spent struct {
	All, Working      float64 // statements; without those that begin, set up and end transactions
	Planning, Running float64 // ms
	Log               float64 // bytes of the write-ahead log, of the whole server
}

func (db *database) spent(ctx context.Context, name string) (s spent, err error) {
	err = db.admin.QueryRow(ctx, `
		SELECT coalesce(sum(calls), 0)::float8,
			coalesce(sum(calls) FILTER (WHERE query !~ '^(BEGIN|COMMIT|SELECT set_config)'), 0)::float8,
			coalesce(sum(total_plan_time), 0), coalesce(sum(total_exec_time), 0),
			pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`, name,
	).Scan(&s.All, &s.Working, &s.Planning, &s.Running, &s.Log)
	return s, err
}

func (s spent) since(before spent) spent {
	return spent{
		s.All - before.All, s.Working - before.Working, s.Planning - before.Planning, s.Running - before.Running,
		s.Log - before.Log,
	}
}
