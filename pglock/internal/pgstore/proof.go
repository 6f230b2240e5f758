package pgstore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// proved is where a connection keeps which proof it has.
const proved = "holdfast: proved"

// proofs are what is known of the table, and what speaks for connections.
type proofs struct {
	unproved *place                // the table as the application names it; constant
	at       atomic.Pointer[place] // the table, as soon as a proof has found it
	checked  atomic.Bool           // the table may be used, as the last proof said
	doubts   atomic.Int64          // how often that was put in doubt
	vouch    atomic.Pointer[vouch] // the last proof; nil: none speaks for others
}

func (s *Store) place() *place { return s.at.Load() }

// Ready implements [store.Store]: once, it finds out whether the table is there, and may be used.
func (s *Store) Ready(ctx context.Context, limit time.Duration) error {
	if s.checked.Load() {
		return nil
	}
	return s.alone(s.Within(ctx, limit), s.prove)
}

// prove finds out where a connection leads by which something is taken for the first time: to a server that can be
// written to, and to the table, which has what safety rests on. The first proof that succeeds says once and for all
// which table is meant by a name without a schema, and in which role the client works: a session of a pooler has the
// search_path, and the role, that somebody left behind. Each proof says anew whether the table has the column that it
// may lack.
//
// A connection proves it again after something has been refused that speaks against it. A connection that is made soon
// after a proof, and leads to the same table, need not, unless a connection was lost since: a server reads catalogues
// anew for each proof, and sixty-four connections of a client that begins would keep it busy for a second.
func (s *Store) prove(ctx context.Context, conn *pgx.Conn) error {
	now := s.doubts.Load()
	if conn.PgConn().CustomData()[proved] == now {
		return nil
	}
	if vouched, err := s.isVouched(ctx, conn, now); vouched || err != nil {
		return err
	}
	sent, floor := s.host.Clock.Now(), s.written()
	found, err := s.look(ctx, conn)
	if err != nil {
		return meaning(err, s.place().name)
	}
	s.observe(sent, found.micros, found.timeline)
	s.recognise(&found, floor)
	if found.pid != conn.PgConn().PID() {
		s.conns.asker.pooled.Store(true)
	}
	if err := found.problem(s.table); err != nil {
		return err
	}
	if s.replicas > 0 && !found.counts {
		return errUncounted(found.User)
	}
	s.at.CompareAndSwap(s.unproved, placeOf(found.Schema, found.Table, found.Role))
	at := s.place()
	s.at.CompareAndSwap(at, at.with(found.Reserves()))
	conn.PgConn().CustomData()[proved] = now
	s.checked.Store(true)
	s.vouch.Store(&vouch{of: found.identity, proof: now, until: sent + vouching})
	return nil
}

// vouch is a proof that speaks for other connections. A connection that is lost ends that: the next one may lead
// elsewhere.
type vouch struct {
	of    identity
	proof int64         // which it is, by the count of doubts
	until time.Duration // how long it does
}

// vouching is for how long a proof speaks for connections that are made later.
const vouching = 10 * time.Second

// isVouched reports that a connection leads where another one was proved to lead a moment ago. Behind a pooler that
// says nothing, since each transaction may be carried out elsewhere; nor where the cluster's identifier must not be
// read. The error is that of a connection which breaks.
func (s *Store) isVouched(ctx context.Context, conn *pgx.Conn, proof int64) (bool, error) {
	v := s.vouch.Load()
	sent, floor := s.host.Clock.Now(), s.written()
	if v == nil || v.proof != proof || sent > v.until || v.of.system == "" || s.conns.asker.pooled.Load() {
		return false, nil
	}
	var found Site
	at, b := s.questions()
	b.Queue(at.sql.glance, at.name).QueryRow(func(row pgx.Row) error {
		return row.Scan(
			&found.micros, &found.timeline, &found.Role, &found.User, &found.pid, &found.system, &found.wal, &found.oid,
			&found.changed,
		)
	})
	err := conn.SendBatch(ctx, b).Close()
	switch {
	case err != nil && conn.IsClosed():
		return false, meaning(err, at.name)
	case err != nil || found.identity != v.of || found.pid != conn.PgConn().PID():
		return false, nil
	}
	s.observe(sent, found.micros, found.timeline)
	s.recognise(&found, floor)
	conn.PgConn().CustomData()[proved] = proof
	return true, nil
}

// proveNow is prove for a request that has not been sent.
func (s *Store) proveNow(conn *pgx.Conn, at time.Time) error {
	ctx, cancel := context.WithDeadline(s.conns.life, at)
	defer cancel()
	return s.prove(ctx, conn)
}

// doubt has the next call say what is wrong with the table, and each connection be proved anew.
func (s *Store) doubt() {
	s.checked.Store(false)
	s.doubts.Add(1)
}

// misled reports that an answer says that its connection leads to a server that cannot be written to, as an address
// does for a moment in a failover. Every transaction begins READ WRITE, which a role or a database that is read-only
// by default does not forbid; a standby does.
func misled(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errStandby) ||
		errors.As(err, &refused) && (refused.Code == "25006" || refused.Code == "0A000")
}
