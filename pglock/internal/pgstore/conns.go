package pgstore

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// conns are the store's connections: a small pool for what callers wait for, another one for renewals, which many
// callers cannot keep busy, and one connection that listens. All are made when they are needed.
//
// A request that is given up costs its connection, and nothing else: no CancelRequest is sent. While a commit waits for
// a synchronous standby, a CancelRequest would end that wait, and the commit would be visible and unreplicated, as if
// it had succeeded. The client library sends one from a connection that it dials for it, so only connections that
// this package asked for are dialled.
type conns struct {
	traffic, renewal *pgxpool.Pool
	listening        *pgxpool.Config

	life   context.Context // until HangUp
	hangUp context.CancelFunc
}

const (
	renewals = 2               // connections
	idle     = 5 * time.Minute // after which a connection is closed that nobody uses

	// connectLimit is for how long a host may keep a connection waiting that is being made: as long as the longest
	// request. By default the pool would wait for two minutes, and the connection's place be taken; of several hosts,
	// the one that took over would be asked after that.
	connectLimit = 3 * time.Second
)

// newConns makes the pools of the configuration of another one, which the application uses. What that does to its
// connections as it makes them is done to these, too (a password that changes, a role). The statements use nothing that
// a session keeps, so that the connections may be a pooler's.
func newConns(theirs *pgxpool.Config, most int32) (*conns, error) {
	c := &conns{}
	c.life, c.hangUp = context.WithCancel(context.Background())
	of := func(most int32) *pgxpool.Config {
		config := theirs.Copy()
		config.MaxConns, config.MinConns, config.MinIdleConns = most, 0, 0
		config.MaxConnIdleTime, config.HealthCheckPeriod = idle, time.Minute
		config.PrepareConn, config.AfterRelease, config.BeforeClose = nil, nil, nil
		//lint:ignore SA1019 an application may set it, though it is deprecated
		config.BeforeAcquire = nil
		config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		if given := config.ConnConfig.ConnectTimeout; given <= 0 || given > connectLimit {
			config.ConnConfig.ConnectTimeout = connectLimit
		}
		c.adapt(config.ConnConfig)
		return config
	}
	var err error
	if c.traffic, err = pgxpool.NewWithConfig(c.life, of(most)); err != nil {
		return nil, err
	}
	if c.renewal, err = pgxpool.NewWithConfig(c.life, of(renewals)); err != nil {
		c.traffic.Close()
		return nil, err
	}
	c.listening = of(1)
	c.listening.ConnConfig.OnNotification = nil // they are waited for
	return c, nil
}

// listener makes the connection that listens, as a pool would do it.
func (c *conns) listener(ctx context.Context) (*pgx.Conn, error) {
	config := c.listening.ConnConfig.Copy()
	if before := c.listening.BeforeConnect; before != nil {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if after := c.listening.AfterConnect; after != nil {
		if err := after(ctx, conn); err != nil {
			hangUp(conn.PgConn())
			return nil, err
		}
	}
	return conn, nil
}

// connecting is in the context of a request that may make a connection.
type connecting struct{}

var errNoCancel = errors.New("a request that was given up is not cancelled at the server")

// adapt makes a connection one of ours. What the application does when a context ends, or a notification comes, is for
// its own.
func (c *conns) adapt(config *pgx.ConnConfig) {
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	// Behind a pooler, the notifications of another client's LISTEN may come. The client library would keep them.
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	dial, notice := config.DialFunc, config.OnNotice
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if ctx.Value(connecting{}) == nil {
			return nil, errNoCancel
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &wire{Conn: conn}
		w.stop = context.AfterFunc(c.life, func() { _ = conn.Close() })
		return w, nil
	}
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Code == warning {
			conn.CustomData()[warned] = n.Message
		}
		if notice != nil {
			notice(conn, n)
		}
	}
}

// wire is a connection that ends with the store.
type wire struct {
	net.Conn
	stop func() bool
}

func (w *wire) Close() error {
	w.stop()
	return w.Conn.Close()
}

// hangUp ends a connection without a farewell. One that is encrypted would wait until it has said one.
func hangUp(conn *pgconn.PgConn) {
	raw := conn.Conn()
	if over, ok := raw.(interface{ NetConn() net.Conn }); ok {
		raw = over.NetConn()
	}
	_ = raw.Close()
}

const (
	// warning is the code of a warning without a code of its own. PostgreSQL has one for a commit whose wait for its
	// synchronous standbys was ended by an operator: it stands here, and perhaps nowhere else.
	warning = "01000"
	warned  = "holdfast: warning"
)

// reset closes connections as soon as nobody uses them.
func (c *conns) reset() {
	c.traffic.Reset()
	c.renewal.Reset()
}

// close closes all connections, and returns when they are.
func (c *conns) close() {
	c.hangUp()
	c.traffic.Close()
	c.renewal.Close()
}
