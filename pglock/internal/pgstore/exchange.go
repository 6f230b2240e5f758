package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/internal/store"
)

// request is a transaction, and perhaps another one before it, on which nobody relies. They are sent together.
type request struct {
	name   string // for those who observe commands
	calls  int    // how many locks it is for
	relied bool   // somebody relies on what the transaction writes

	before func(b *pgx.Batch) // queues the statements of the one before; nil: there is none
	within func(b *pgx.Batch) // queues those of the transaction
}

// window is a context for a request: it is sent before the parent ends, and then has until an instant to be answered,
// whether the parent ends or not. To leave it earlier would cost its connection.
type window struct {
	context.Context
	at time.Time
}

func (w *window) Deadline() (time.Time, bool) { return w.at, true }

// Within implements [store.Store].
func (s *Store) Within(ctx context.Context, limit time.Duration) context.Context {
	at := time.Now().Add(limit)
	if all, ok := ctx.Value(withinAll{}).(time.Time); ok && all.Before(at) {
		at = all
	}
	return &window{ctx, at}
}

// WithinAll implements [store.Store].
func (s *Store) WithinAll(ctx context.Context, limit, all time.Duration) context.Context {
	return s.Within(context.WithValue(ctx, withinAll{}, time.Now().Add(all)), limit)
}

// withinAll is in the context of requests that end by an instant, whatever limit each has.
type withinAll struct{}

// send sends a request by a connection of a pool, and reads the answers.
//
// A statement that fails ends the transaction, and what follows is not carried out. The connection is then asked to
// roll back, or given up.
func (s *Store) send(ctx context.Context, pool *pgxpool.Pool, r request) error {
	return s.by(ctx, pool, func(conn *pgx.Conn, at time.Time) error {
		began := s.host.Clock.Now()
		err := s.sendOn(conn, at, r)
		if s.host.OnCommand != nil {
			s.host.OnCommand(store.Command{Script: r.name, Calls: r.calls, Took: s.host.Clock.Now() - began, Err: err})
		}
		if unusable(err) {
			s.checked.Store(false) // the next call says what is wrong with it
		}
		return err
	})
}

// by has something asked by a connection of a pool, until an instant.
//
// A connection that broke, or was given up, is closed here and now. The client library would wait for what the server
// still says, for 15 s, and the connection's place in the pool is taken until then: with a server that is frozen or
// gone, a few requests would take all of them.
func (s *Store) by(ctx context.Context, pool *pgxpool.Pool, ask func(conn *pgx.Conn, at time.Time) error) error {
	if ctx.Err() != nil || s.conns.life.Err() != nil {
		return store.ErrUnsent
	}
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(s.host.Limit)
	}
	if time.Until(at) <= 0 {
		return store.ErrLate
	}
	conn, err := s.connection(ctx, pool, at)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = ask(conn.Conn(), at)
	if conn.Conn().IsClosed() {
		hangUp(conn.Conn().PgConn())
	}
	if store.FaultOf(err) == store.FaultAmbiguous && time.Until(at) > 0 {
		pool.Reset() // the connection broke, and others to the same server may have done so too
	}
	return err
}

// connection waits for a connection. Nothing is sent before there is one.
func (s *Store) connection(ctx context.Context, pool *pgxpool.Pool, at time.Time) (*pgxpool.Conn, error) {
	waits, cancel := context.WithDeadline(context.WithValue(ctx, connecting{}, true), at)
	defer cancel()
	defer context.AfterFunc(s.conns.life, cancel)()
	conn, err := pool.Acquire(waits)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil, s.conns.life.Err() != nil:
		return nil, store.ErrUnsent
	}
	return nil, unsent(err)
}

func (s *Store) sendOn(conn *pgx.Conn, at time.Time, r request) error {
	ctx, cancel := context.WithDeadline(s.conns.life, at)
	defer cancel()
	delete(conn.PgConn().CustomData(), warned)
	limit := max(time.Until(at), time.Millisecond)
	committed := false
	b := &pgx.Batch{}
	if r.before != nil {
		s.begin(b, limit, false)
		r.before(b)
		b.Queue(commit)
	}
	s.begin(b, limit, r.relied)
	r.within(b)
	b.Queue(commit).Exec(func(tag pgconn.CommandTag) error {
		if committed = tag.String() == commit; !committed {
			return fmt.Errorf("the transaction ended with %s", tag)
		}
		return nil
	})
	err := conn.SendBatch(ctx, b).Close()
	if err != nil && conn.PgConn().TxStatus() == 'E' && !conn.IsClosed() {
		_, _ = conn.Exec(ctx, "ROLLBACK") // the pool keeps no connection whose transaction is open
	}
	switch {
	case err != nil && !committed:
		return meaning(err)
	case conn.PgConn().CustomData()[warned] != nil && r.relied:
		return &store.ShortfallError{Err: errors.New(fmt.Sprint(conn.PgConn().CustomData()[warned]))}
	}
	return nil
}

// begin queues what begins a transaction, which waits for no lock for longer than the limit.
func (s *Store) begin(b *pgx.Batch, limit time.Duration, relied bool) {
	b.Queue(s.sql.begin)
	b.Queue(s.sql.limits, strconv.FormatInt(limit.Milliseconds(), 10), relied)
}
