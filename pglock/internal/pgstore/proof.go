package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// proved is where a connection keeps which proof it has.
const proved = "holdfast: proved"

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
// A connection proves it again after something has been refused that speaks against it.
func (s *Store) prove(ctx context.Context, conn *pgx.Conn) error {
	now := s.proofs.Load()
	if conn.PgConn().CustomData()[proved] == now {
		return nil
	}
	sent, floor := s.host.Clock.Now(), s.written()
	found, err := s.look(ctx, conn)
	if err != nil {
		return meaning(err, s.place().name)
	}
	s.observe(sent, found.micros, found.timeline)
	s.recognise(&found, floor)
	s.conns.asker.pooled.Store(found.pid != conn.PgConn().PID())
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
	return nil
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
	s.proofs.Add(1)
}

// misled reports that an answer says that its connection leads to a server that cannot be written to, as an address
// does for a moment in a failover. Every transaction begins READ WRITE, which a role or a database that is read-only
// by default does not forbid; a standby does.
func misled(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errStandby) ||
		errors.As(err, &refused) && (refused.Code == "25006" || refused.Code == "0A000")
}
