package main

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/pglock"
)

// The contenders by name.
const (
	oursOnPostgres = contender.Ours + " on PostgreSQL"
	pooled         = oursOnPostgres + ", behind a pooler"
	wide           = oursOnPostgres + ", 64 connections" // as many as the peer may use
	peer           = "cirello.io/pglock"
	advisory       = "floor: advisory lock"
)

// onPostgres has a peer with a goroutine for each hold, for which 10,000 are too many. An advisory lock needs none, but
// a connection.
var onPostgres = store{
	name: "postgres", title: "PostgreSQL", start: startPostgres, open: openPostgres,
	usual: []string{oursOnPostgres, peer, advisory},
	entrants: map[string][]string{
		"new":           {oursOnPostgres, peer}, // each would be another connection
		"own64":         {oursOnPostgres, wide, peer, advisory},
		"handover-poll": {pooled},
		"held1000":      {oursOnPostgres, peer},
		"held10000":     {oursOnPostgres},
		"minute8x8":     {oursOnPostgres, peer},
	},
	goals: map[string][]scenario.Goal{
		"free":          {{Figure: measure.Rate, Of: oursOnPostgres, To: []string{peer}, AtLeast: 1.5}},
		"hot1x8":        {{Figure: measure.Rate, Of: oursOnPostgres, To: []string{peer}, AtLeast: 50}},
		"hot1x64":       {{Figure: measure.Rate, Of: oursOnPostgres, To: []string{peer}, AtLeast: 50}},
		"handover":      {{Figure: handoverP50, Of: oursOnPostgres, AtMost: micros(20 * time.Millisecond)}},
		"handover-poll": {{Figure: handoverP50, Of: pooled, AtMost: micros(poll)}},
		"held10000":     {{Figure: third(renewing), Of: oursOnPostgres, AtMost: 40}},
		"minute8x8":     {{Figure: tableBytes, Of: oursOnPostgres, AtMost: 1 << 20}},
	},
	least:    time.Second,
	settling: 50 * time.Millisecond,
	polls:    map[string]time.Duration{pooled: poll, peer: peerLease},
}

const poll = time.Second // the default of MaxPoll

// database is the server of all situations, with its defaults but for what counts. It waits for the disk.
type database struct {
	t       testing.TB
	server  *pgtest.Server
	bouncer *pgtest.Bouncer // before it, in transaction mode
	admin   *pgx.Conn       // to a database in which nothing else happens
	number  string
}

func startPostgres(ctx context.Context, t testing.TB) (_ server, err error) {
	server := pgtest.Start(t, "fsync=on", "max_connections=500", "shared_preload_libraries=pg_stat_statements",
		"pg_stat_statements.track_planning=on")
	db := &database{t: t, server: server, bouncer: pgtest.StartBouncer(t, server, "transaction")}
	if db.admin, err = pgx.Connect(ctx, server.URL()); err != nil {
		return nil, err
	}
	_, err = db.admin.Exec(ctx, "CREATE EXTENSION pg_stat_statements")
	if err == nil {
		err = db.admin.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&db.number)
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

func (db *database) version() string { return "PostgreSQL " + db.number + ", fsync on" }

func (db *database) addrs() []string { return []string{db.server.Addr(), db.bouncer.Addr()} }

func (db *database) close() error { return db.admin.Close(context.Background()) }

func (db *database) asker(ctx context.Context, addr string) (ask, hangUp func() error, err error) {
	c, err := pgx.Connect(ctx, via(db.server.URL(), addr))
	if err != nil {
		return nil, nil, err
	}
	return func() error { return c.Ping(ctx) }, func() error { return c.Close(ctx) }, nil
}

// pgPlace is a database of its own.
type pgPlace struct {
	db   *database
	to   string
	conn *pgx.Conn // to it, directly
}

func (db *database) place(ctx context.Context) (_ place, err error) {
	p := &pgPlace{db: db, to: db.server.Database(db.t)}
	if p.conn, err = pgx.Connect(ctx, p.to); err != nil {
		return nil, err
	}
	if err = pglock.Migrate(ctx, p.conn, ""); err == nil {
		_, err = p.conn.Exec(ctx, "CREATE EXTENSION pgstattuple")
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *pgPlace) url() string { return p.to }

func (p *pgPlace) close() error { return p.conn.Close(context.Background()) }

// tidy deletes a row of the peer that would be in the way for a lease.
func (p *pgPlace) tidy(ctx context.Context, contender string) error {
	if contender != peer {
		return nil
	}
	_, err := p.conn.Exec(ctx, "DELETE FROM locks")
	return err
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

// spent is what the server has done for the clients of the database, but for the log, which is the whole server's.
func (p *pgPlace) spent(ctx context.Context) (measure.Figures, error) {
	var all, work, planned, ran, log float64
	database := p.conn.Config().Database
	err := p.db.admin.QueryRow(ctx, `
		SELECT coalesce(sum(calls), 0)::float8,
			coalesce(sum(calls) FILTER (WHERE query !~ '^(BEGIN|COMMIT|SELECT set_config)'), 0)::float8,
			coalesce(sum(total_plan_time), 0), coalesce(sum(total_exec_time), 0),
			pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`, database,
	).Scan(&all, &work, &planned, &ran, &log)
	return measure.Figures{calls: all, renewing: work, planning: 1e3 * planned, running: 1e3 * ran, logBytes: log}, err
}
