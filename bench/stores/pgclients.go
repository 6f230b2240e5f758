package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"time"

	cirello "cirello.io/pglock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lib/pq"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
	"github.com/holdfast-go/holdfast/pglock"
)

// openPostgres opens a client of a database, at the first address of its target or at that of the pooler.
func openPostgres(ctx context.Context, name string, t target) (contender.Client, error) {
	addr := t.Addrs[0]
	if name == pooled {
		addr = t.Addrs[1]
	}
	t.URL = via(t.URL, addr)
	switch name {
	case peer:
		return openPeer(t)
	case advisory:
		return &advisoryClient{target: t}, nil
	}
	opts := pglock.Options{Lease: t.Lease, Logger: slog.New(slog.DiscardHandler)}
	if name == wide {
		opts.MaxConns = 64
	}
	return openOurs(ctx, t, opts)
}

func openOurs(ctx context.Context, t target, opts pglock.Options) (contender.Client, error) {
	config, err := pgxpool.ParseConfig(t.URL)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DialFunc = t.meter.Dial
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	client, err := pglock.NewClient(pool, &opts)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return ours{client, func() error {
		defer pool.Close()
		return client.Close()
	}}, nil
}

// The peer's page shows these durations. Its waiters sleep for the first one.
const (
	peerLease = 3 * time.Second
	peerBeat  = time.Second

	// peerIdle is how many connections its database/sql keeps that are not in use. By default that is two, and a
	// goroutine that needs a third one connects anew for each statement.
	peerIdle = 64
)

type peerClient struct {
	db     *sql.DB
	client *cirello.Client
}

// openPeer is what the peer's page shows. A lease is renewed every third of it, as on that page.
func openPeer(t target) (contender.Client, error) {
	connector, err := pq.NewConnector(t.URL)
	if err != nil {
		return nil, err
	}
	connector.Dialer(dialer{t.meter})
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(peerIdle)
	lease, beat := peerLease, peerBeat
	if t.Lease > 0 {
		lease, beat = t.Lease, t.Lease/3
	}
	client, err := cirello.New(db, cirello.WithLeaseDuration(lease), cirello.WithHeartbeatFrequency(beat))
	if err == nil {
		err = client.TryCreateTable()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &peerClient{db, client}, nil
}

func (c *peerClient) Lock(names ...string) contender.Lock {
	return &peerLock{client: c.client, name: names[0]}
}

func (c *peerClient) Close() error { return c.db.Close() }

type peerLock struct {
	client *cirello.Client
	name   string
	held   *cirello.Lock
}

func (l *peerLock) Lock(ctx context.Context) (err error) {
	l.held, err = l.client.AcquireContext(ctx, l.name)
	return err
}

func (l *peerLock) Unlock() error { return l.held.Close() }

// dialer counts what lib/pq sends.
type dialer struct{ meter *wire.Meter }

func (d dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.meter.Dial(ctx, network, addr)
}

func (d dialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

func (d dialer) DialTimeout(network, addr string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return d.DialContext(ctx, network, addr)
}

// advisoryClient has a connection for each lock, which is the lock's for as long as it lives: a session's lock ends
// with it, and nothing else may be done on it meanwhile without the risk to lose both.
type advisoryClient struct {
	target target
	locks  []*advisoryLock
}

func (c *advisoryClient) Lock(names ...string) contender.Lock {
	l := &advisoryLock{of: c, name: names[0]}
	c.locks = append(c.locks, l)
	return l
}

func (c *advisoryClient) Close() error {
	for _, l := range c.locks {
		if l.conn != nil {
			_ = l.conn.Close(context.Background())
		}
	}
	return nil
}

type advisoryLock struct {
	of   *advisoryClient
	name string
	conn *pgx.Conn // nil: it was not needed yet
}

func (l *advisoryLock) Lock(ctx context.Context) error {
	if l.conn == nil || l.conn.IsClosed() { // a wait that is given up closes it
		config, err := pgx.ParseConfig(l.of.target.URL)
		if err != nil {
			return err
		}
		config.DialFunc = l.of.target.meter.Dial
		if l.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			return err
		}
	}
	_, err := l.conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", l.name)
	return err
}

func (l *advisoryLock) Unlock() error {
	_, err := l.conn.Exec(context.Background(), "SELECT pg_advisory_unlock(hashtextextended($1, 0))", l.name)
	return err
}
