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

	"github.com/holdfast-go/holdfast/internal/deadlines"
)

// conns are the store's connections: a pool of those by which requests are sent, and one that listens. All are made
// when they are needed. What callers wait for and renewals have a lane each, so that many callers cannot keep renewals
// from being sent.
//
// A request that is given up costs its connection, and the slot of that until the server has finished (see lane); no
// CancelRequest is sent. While a commit waits for a synchronous standby, a CancelRequest would end that wait, and the
// commit would be visible and unreplicated, as if it had succeeded. The client library sends one from a connection that
// it dials for it, so only connections that this package asked for are dialled.
type conns struct {
	pool             *pool
	traffic, renewal *lane
	theirs           *pgxpool.Config
	asker            asker

	life   context.Context // until HangUp
	hangUp context.CancelFunc

	warnings warnings
}

const (
	renewals = 2 // connections
	spares   = 1 // that releases may have besides (lane)

	// connectLimit is for how long a host may keep a connection waiting that is being made: as long as the longest
	// request. By default the client library would wait for two minutes; of several hosts, the one that took over would
	// be asked after that.
	connectLimit = 3 * time.Second
)

// newConns makes connections by the configuration of a pool that the application uses. What that does to its
// connections as it makes them is done to these, too (a password that changes, a role). The statements use nothing that
// a session keeps, so that the connections may be a pooler's.
func newConns(theirs *pgxpool.Config, most int) *conns {
	c := &conns{
		theirs: theirs.Copy(), traffic: newLane(most, true), renewal: newLane(renewals, false),
		asker: asker{hurry: make(chan struct{}, 1)},
	}
	c.asker.conns = c
	c.life, c.hangUp = context.WithCancel(context.Background())
	config := c.theirs.ConnConfig
	if given := config.ConnectTimeout; given <= 0 || given > connectLimit {
		config.ConnectTimeout = connectLimit
	}
	if config.RuntimeParams["application_name"] == "" { // for an administrator who wonders whose sessions these are
		config.RuntimeParams["application_name"] = "holdfast"
	}
	c.adapt(config)
	c.pool = &pool{
		dial: func(ctx context.Context) (*pgx.Conn, error) {
			return c.dial(ctx, func(*pgconn.PgConn, *pgconn.Notification) {})
		},
		life: c.life, most: most + spares + renewals, idle: idleFor(theirs.MaxConnIdleTime),
		lifetime: lifetimes(theirs.MaxConnLifetime, theirs.MaxConnLifetimeJitter),
	}
	return c
}

// listener makes the connection that listens. Its notifications are waited for.
func (c *conns) listener(ctx context.Context) (*pgx.Conn, error) { return c.dial(ctx, nil) }

// dial makes a connection, as the application's pool would do it, which has a function called for what it is notified
// of. Behind a pooler, the notifications of another client's LISTEN may come on any connection, and the client library
// would keep them.
func (c *conns) dial(ctx context.Context, notified pgconn.NotificationHandler) (*pgx.Conn, error) {
	config := c.theirs.ConnConfig.Copy()
	config.OnNotification = notified
	if before := c.theirs.BeforeConnect; before != nil {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if after := c.theirs.AfterConnect; after != nil {
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
		w := &wire{Conn: deadlines.Conn(conn)}
		w.stop = context.AfterFunc(c.life, func() { _ = conn.Close() })
		return w, nil
	}
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if unreplicated(n) {
			conn.CustomData()[warned] = n.Message
		} else {
			c.warnings.hear(n)
		}
		if notice != nil {
			notice(conn, n)
		}
	}
}

// close closes all connections, and returns when they are.
func (c *conns) close() {
	c.hangUp()
	c.pool.close()
	c.asker.running.Wait()
}
