package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Site is what is found of the server, of a session there, and of the table.
type Site struct {
	Standby                 bool
	Schema, Table           string   // of the table; "": there is none
	Path                    string   // the session's search_path
	Elsewhere               []string // schemas that have a table of that name
	Kind                    string   // of the table, as pg_class has it, with + if others inherit from it
	Permanent               bool
	Reads, Inserts, Updates bool
	Key                     bool     // a name is unique
	Hides                   bool     // policies may hide rows
	Columns                 []string // each with its type
	Hidden                  string   // why this user may not even look for the table; "": it may

	identity

	pid    uint32 // of the session
	counts bool   // this user sees what standbys have
	known  bool   // the table was there before
	micros int64
	wal    int64 // how far the log is; 0: it is a standby, or this user may not read that
}

// identity is by what a server and a table are known again, from another connection: to sessions of one user, both look
// the same.
type identity struct {
	system     string // the cluster's identifier; "": this user may not read it
	timeline   string // "": the server is a standby
	Role, User string // of the session: as SET ROLE has it, and whose rights that gives
	oid        uint32 // of the table; 0: there is none
	changed    string // the transaction that last changed what the table is
}

// Name is the table's name with its schema.
func (found *Site) Name() string { return pgx.Identifier{found.Schema, found.Table}.Sanitize() }

// Reserves reports that a lock can be reserved for clients that hear of no release.
func (found *Site) Reserves() bool {
	return slices.ContainsFunc(found.Columns, func(c string) bool { return strings.HasPrefix(c, "polled ") })
}

// questions are those to a connection, in the role in which the table was found.
func (s *Store) questions() (at *place, b *pgx.Batch) {
	at, b = s.place(), &pgx.Batch{}
	if at != s.unproved { // in the transaction that the statements of a batch share
		b.Queue("SELECT set_config('role', $1::text, true)", at.role)
	}
	return at, b
}

// look asks, by a connection, what is there.
func (s *Store) look(ctx context.Context, conn *pgx.Conn) (found Site, err error) {
	at, b := s.questions()
	told := false
	b.Queue(at.sql.ready, at.name).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&found.Standby, &found.micros, &found.timeline, &found.Role, &found.User, &found.Path,
			&found.Elsewhere, &found.Schema, &found.Table, &found.Kind, &found.Permanent, &found.Reads, &found.Inserts,
			&found.Updates, &found.Key, &found.Hides, &found.Columns, &found.pid, &found.counts, &found.oid,
			&found.changed)
		told = err == nil
		return err
	})
	b.Queue(at.sql.system).QueryRow(func(row pgx.Row) error { return row.Scan(&found.system, &found.wal) })
	err = conn.SendBatch(ctx, b).Close()
	found.known = at != s.unproved
	var refused *pgconn.PgError
	denied := errors.As(err, &refused) && refused.Code == noRight
	if denied && told { // what was asked last
		return found, nil
	}
	if denied {
		return Site{Hidden: refused.Message}, nil
	}
	return found, err
}

// Site asks the server about itself and the table.
func (s *Store) Site(ctx context.Context) (found Site, err error) {
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.look(ctx, conn)
		return err
	})
	return found, err
}

// Server is what is found of the server.
type Server struct {
	Version               int
	Fsync, FullPages      bool
	Standbys, Synchronous int
	StandbyNames          string
	OldestSnapshot        time.Duration
	Rows, DeadVersions    int64 // of the table, as the statistics have them
	SizeByte              int64
	OldestID, OldestMulti int64   // the ages of the oldest transaction id and of the oldest multixact id
	QueueUsage            float64 // of notifications; 1: it is full
}

// Server asks the server about what an operator should know.
func (s *Store) Server(ctx context.Context) (found Server, err error) {
	var oldest int64
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		at := s.place()
		return conn.QueryRow(ctx, at.sql.server, at.name).Scan(&found.Version, &found.Fsync, &found.FullPages,
			&found.Standbys, &found.Synchronous, &found.StandbyNames, &oldest, &found.Rows, &found.DeadVersions,
			&found.SizeByte, &found.OldestID, &found.OldestMulti, &found.QueueUsage)
	})
	found.OldestSnapshot = time.Duration(oldest) * time.Second
	return found, err
}

// Transactions asks which transactions have been open for a time and have locked rows of the table, the oldest first.
func (s *Store) Transactions(ctx context.Context, open time.Duration) (all []store.Transaction, err error) {
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, s.place().sql.transactions, s.place().name, int64(open.Seconds()))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Transaction, error) {
			var t locker
			err := row.Scan(&t.PID, &t.Prepared, &t.Open, &t.State)
			return t.transaction(), err
		})
		return err
	})
	return all, err
}

// alone sends what only reads, and may be asked of a standby: a statement without a transaction around it. It is sent
// once more if the first connection broke.
func (s *Store) alone(ctx context.Context, ask func(ctx context.Context, conn *pgx.Conn) error) error {
	once := func() error {
		return s.by(ctx, s.conns.traffic, true, func(conn *pgx.Conn, at time.Time) error {
			within, cancel := context.WithDeadline(s.conns.life, at)
			defer cancel()
			return meaning(ask(within, conn), s.place().name)
		})
	}
	err := once()
	if store.FaultOf(err) == store.FaultAmbiguous {
		err = once()
	}
	return err
}

// Row is what the table shows of one name.
type Row struct {
	Name   string
	ID     string // of the hold; "": nobody has the lock
	TTL    time.Duration
	Fence  int64
	Wanted bool // another client listens for the release

	Transactions []store.Transaction // that have locked the row
}

// List reads a page of the table, in the order of names, behind one name. Pattern is one of LIKE.
func (s *Store) List(ctx context.Context, pattern, behind string, most int) (rows []Row, err error) {
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err := conn.Query(ctx, s.place().sql.list, s.place().name, pattern, behind, most)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (r Row, err error) {
			var id *string
			var left *int64
			var by lockers
			if err = row.Scan(&r.Name, &id, &left, &r.Fence, &r.Wanted, &by); err == nil && id != nil {
				r.ID, r.TTL = *id, time.Duration(*left)*time.Millisecond
			}
			r.Transactions = by.transactions()
			return r, err
		})
		return err
	})
	return rows, err
}

// Hears finds out whether this connection to the server delivers notifications. The error is [ErrDeaf] if it does not.
func (s *Store) Hears(ctx context.Context) error { return s.ears.try(ctx) }
