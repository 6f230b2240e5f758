package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-go/holdfast/internal/store"
)

// request is a transaction, and perhaps another one before it and one behind it, on which nobody relies. They are sent
// together.
type request struct {
	name   string // for those who observe commands
	calls  int    // how many locks it is for
	relied bool   // somebody relies on what the transaction writes
	takes  bool   // it takes something, so its connection is proved before

	wrote func() bool // its answer says that it wrote what somebody relies on; nil: it always does

	before func(b *pgx.Batch) // queues the statements of the one before; nil: there is none
	within func(b *pgx.Batch) // queues those of the transaction
	after  func(b *pgx.Batch) // queues a statement that is a transaction of its own and sends messages; nil: none
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

// send sends a request by a connection of a lane, reads the answers, and tells those who observe commands: also if
// there was no connection to send it by. One whose caller had left before is no command.
func (s *Store) send(ctx context.Context, l *lane, r request) error {
	began := s.host.Clock.Now()
	err := s.exchange(ctx, l, r)
	if s.host.OnCommand != nil && !errors.Is(err, store.ErrUnsent) {
		s.host.OnCommand(store.Command{Script: r.name, Calls: r.calls, Took: s.host.Clock.Now() - began, Err: err})
	}
	return err
}

// exchange is send without telling anybody. If the connection breaks as it is proved, nothing was sent yet, and another
// one is tried.
//
// A statement that fails ends the transaction, and what follows is not carried out. The connection is then asked to
// roll back, or given up.
func (s *Store) exchange(ctx context.Context, l *lane, r request) error {
	end, sent := s.end(ctx), false
	once := func() error {
		return s.by(ctx, l, !r.relied, func(conn *pgx.Conn, at time.Time) error {
			if r.takes {
				if err := s.proveNow(conn, at); err != nil {
					return err
				}
			}
			sent = true
			err := s.sendOn(conn, at, end, r)
			if unusable(err) {
				s.doubt()
			}
			return err
		})
	}
	err := once()
	if !sent && store.FaultOf(err) == store.FaultAmbiguous {
		err = once()
	}
	if !sent && store.FaultOf(err) == store.FaultAmbiguous {
		return &store.Failure{Fault: store.FaultTransient, Err: err}
	}
	return err
}

// by has something asked by a connection, until an instant. What waits for nobody's disk or standby has a spare slot,
// if all others are taken by requests that were given up.
//
// A connection that broke is closed here and now: the client library would wait for what the server still says.
func (s *Store) by(
	ctx context.Context, l *lane, spare bool, ask func(conn *pgx.Conn, at time.Time) error,
) error {
	if ctx.Err() != nil || s.conns.life.Err() != nil {
		return store.ErrUnsent
	}
	end := s.end(ctx)
	if time.Until(end) <= 0 {
		return store.ErrLate
	}
	conn, slot, err := s.connection(ctx, l, spare, end)
	if err != nil {
		return err
	}
	free := sync.OnceFunc(func() { <-slot })
	left := false
	defer func() {
		s.conns.pool.put(conn)
		if !left {
			free()
		}
	}()
	sent := time.Now()
	at := sent.Add(s.patience(conn, end.Sub(sent)))
	err = ask(conn.Conn, at)
	s.answered(time.Since(sent), err)
	if misled(err) || conn.IsClosed() {
		s.vouch.Store(nil)
	}
	switch {
	case misled(err):
		s.conns.pool.reset() // others may lead there, too
	case conn.IsClosed() && time.Until(at) <= 0:
		left = true
		s.conns.asker.leave(conn.PgConn(), free)
		s.conns.pool.distrust(sent)
	case conn.IsClosed():
		hangUp(conn.PgConn())
		s.conns.pool.distrust(sent)
	}
	return err
}

// end is until when a request is to be answered.
func (s *Store) end(ctx context.Context) time.Time {
	if at, ok := ctx.Deadline(); ok {
		return at
	}
	return time.Now().Add(s.host.Limit)
}

// patience is how long an answer may take over a connection that was there, if it may take limit over a new one.
//
// A connection may have been forgotten by a balancer, and then nothing will ever answer. So a server that has just been
// quick has half of the time. A caller without an answer by then sends the request again, under the same id, within
// what is left of the time; by then the connections are closed that may have been forgotten as well. If it is the
// server that hangs, the next requests have the whole time. Where a request has no more time than a busy machine may
// stand still, all of it is needed for the first attempt.
func (s *Store) patience(conn *link, limit time.Duration) time.Duration {
	const least, quick = time.Second, 8
	if took := s.took.Load(); !conn.isNew() && limit >= least && took > 0 && took < int64(limit/quick) {
		return limit / 2
	}
	return limit
}

// answered notes how long a request took.
func (s *Store) answered(took time.Duration, err error) {
	if store.FaultOf(err) == store.FaultAmbiguous {
		took = 0
	}
	s.took.Store(int64(took))
}

// connection waits for a slot, and for a connection. Nothing is sent before there is one.
func (s *Store) connection(ctx context.Context, l *lane, spare bool, at time.Time) (
	conn *link, slot chan struct{}, err error,
) {
	waits, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	defer context.AfterFunc(s.conns.life, cancel)()
	err = errNoSlot
	if slot = l.slot(); slot == nil {
		s.conns.asker.hurries()
		slot = l.wait(waits, spare)
	}
	if slot != nil {
		if conn, err = s.conns.pool.take(waits, l == s.conns.renewal); err == nil {
			return conn, slot, nil
		}
		<-slot
	}
	if ctx.Err() != nil || s.conns.life.Err() != nil {
		return nil, nil, store.ErrUnsent
	}
	return nil, nil, unsent(err)
}

// sendOn sends a request that has to be answered by a time. Where standbys are counted, there is time until the end.
// The server waits for no row for so long that its answer, that the row is locked, would come too late: without one the
// connection would be lost, and nobody would know of the row.
func (s *Store) sendOn(conn *pgx.Conn, at, end time.Time, r request) error {
	ctx, cancel := context.WithDeadline(s.conns.life, at)
	defer cancel()
	delete(conn.PgConn().CustomData(), warned)
	limit := max(time.Until(at)*3/4, time.Millisecond)
	committed, counts := false, r.relied && s.replicas > 0
	var has copies
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
	if counts {
		b.Queue(s.place().sql.replicated, "").QueryRow(has.scan)
	}
	if r.after != nil {
		r.after(b)
	}
	err := conn.SendBatch(ctx, b).Close()
	if err != nil && conn.PgConn().TxStatus() == 'E' && !conn.IsClosed() {
		_, _ = conn.Exec(ctx, "ROLLBACK") // the pool keeps no connection whose transaction is open
	}
	switch warning := conn.PgConn().CustomData()[warned]; {
	case err != nil && !committed:
		return meaning(err, s.place().name)
	case warning != nil && r.relied:
		return &store.ShortfallError{Err: errors.New(fmt.Sprint(warning))}
	case untellable(err):
		s.silenced(err)
	case err != nil && counts:
		return &store.ShortfallError{Want: s.replicas, Fsync: true, Primary: true, Err: err}
	}
	if counts && (r.wrote == nil || r.wrote()) {
		return s.copied(conn, end, has)
	}
	return nil
}

// begin queues what begins a transaction, which waits for no lock for longer than the limit.
func (s *Store) begin(b *pgx.Batch, limit time.Duration, relied bool) {
	at := s.place()
	limits := at.sql.laxLimits
	if relied {
		limits = at.sql.limits
	}
	b.Queue(at.sql.begin)
	b.Queue(limits, strconv.FormatInt(limit.Milliseconds(), 10), at.role)
}
