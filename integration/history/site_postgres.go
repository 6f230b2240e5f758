package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// postgresGround are the servers of a run on PostgreSQL. Each client knows two hosts, which are paths of its own: to
// the primary and to its standby, whichever is which, and whichever servers are these by now. Behind a pooler there
// is one.
type postgresGround struct {
	lab     *lenient
	servers []*pgtest.Server // by host
	primary int              // the host of the one that can be written to
	bouncer *pgtest.Bouncer
}

// clientName begins the names under which the servers know connections of clients.
const clientName = "history-"

// buildPostgres starts the servers of a run on PostgreSQL, and makes the paths to them.
func (r *run) buildPostgres(lab *lenient) ground {
	// A standby that lost its primary looks for it again at once, or every commit would wait for that.
	primary := pgtest.Start(lab, "wal_retrieve_retry_interval=100ms")
	g := &postgresGround{lab: lab, servers: []*pgtest.Server{primary}}
	all, err := pglock.Migrations("")
	if err != nil {
		lab.Fatalf("%v", err)
	}
	for _, m := range all {
		primary.Run(lab, m.SQL)
	}
	addrs := []string{primary.Addr()}
	if r.cfg.Site == Bouncer {
		g.bouncer = pgtest.StartBouncer(lab, primary, "transaction")
		addrs = []string{g.bouncer.Addr()}
	} else {
		g.servers = append(g.servers, primary.Standby(lab, !r.cfg.Forgets))
		addrs = append(addrs, g.servers[1].Addr())
	}
	for _, s := range r.seats {
		var hosts []string
		for _, addr := range addrs {
			path := tcpproxy.Start(lab, addr)
			s.paths, hosts = append(s.paths, path), append(hosts, path.Addr())
		}
		s.addr = fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable&application_name=%s%d",
			strings.Join(hosts, ","), clientName, s.number)
		if len(hosts) > 1 {
			s.addr += "&target_session_attrs=read-write"
		}
	}
	return g
}

// dialPostgres makes the client with which a process of the run locks on PostgreSQL.
func dialPostgres(o orders) (lock.Provider, func() error, error) {
	pool, err := pgxpool.New(context.Background(), o.Addr)
	if err != nil {
		return nil, nil, err
	}
	defer pool.Close() // only its configuration is needed
	c, err := pglock.NewClient(pool, &pglock.Options{
		Lease: o.Lease, MaxPoll: o.Lease / 3, ReleaseTimeout: 2 * o.Lease, Logger: slog.New(slog.DiscardHandler),
	})
	return c, c.Close, err
}

// ask asks a server for a list.
func (g *postgresGround) ask(url, sql string, args ...any) (list []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// tell has the primary execute something.
func (g *postgresGround) tell(sql string, args ...any) error {
	_, err := g.ask(g.servers[g.primary].URL(), sql, args...)
	return err
}

// held implements [ground]: the rows stay, and are free.
func (g *postgresGround) held() ([]string, error) {
	return g.ask(g.servers[g.primary].URL(), "SELECT name || ' of ' || coalesce(id, 'nobody') FROM holdfast_lock "+
		"WHERE until > clock_timestamp()")
}

// ofClients are the connections of clients; listening those of them that listen, as far as their last words show.
const (
	ofClients = "application_name LIKE '" + clientName + "%'"
	listening = ofClients + " AND (query LIKE 'LISTEN%' OR query LIKE '-- ping%')"
)

// listened implements [ground].
func (g *postgresGround) listened() ([]string, error) {
	if g.bouncer != nil { // its connections to the server outlive those that clients have to it
		return nil, nil
	}
	return g.activity(listening)
}

// connections implements [ground].
func (g *postgresGround) connections() ([]string, error) {
	if g.bouncer != nil {
		return g.bounced()
	}
	return g.activity(ofClients)
}

func (g *postgresGround) activity(which string) (all []string, err error) {
	for _, server := range g.servers {
		list, err := g.ask(server.URL(), "SELECT concat_ws(' ', application_name, client_port, state, query) "+
			"FROM pg_stat_activity WHERE "+which)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// bounced lists the connections of clients to the pooler.
func (g *postgresGround) bounced() (all []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(g.bouncer.URL(), "/postgres?", "/pgbouncer?", 1))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	result, err := conn.PgConn().Exec(ctx, "SHOW CLIENTS").ReadAll()
	if err != nil {
		return nil, err
	}
	for _, row := range result[0].Rows {
		var words []string
		for _, value := range row {
			words = append(words, string(value))
		}
		if line := strings.Join(words, " "); !strings.Contains(line, " pgbouncer ") {
			all = append(all, line)
		}
	}
	return all, nil
}
