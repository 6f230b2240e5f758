package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Site is what is found of the table, by the user of the store, and of the server's clock.
type Site struct {
	Standby, Table, Permanent bool
	Reads, Inserts, Updates   bool
	Hidden                    string // why this user may not even look for the table; "": it may
	Columns                   []string
	micros                    int64
	timeline                  string
}

// Site asks the server about itself and the table.
func (s *Store) Site(ctx context.Context) (found Site, err error) {
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, s.sql.ready, s.table.quoted()).Scan(&found.Standby, &found.micros, &found.timeline,
			&found.Table, &found.Permanent, &found.Reads, &found.Inserts, &found.Updates, &found.Columns)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == noRight {
			found, err = Site{Hidden: refused.Message}, nil
		}
		return err
	})
	return found, err
}

// Server is what is found of the server.
type Server struct {
	Version                int
	Fsync, FullPages       bool
	Standbys, Synchronous  int
	StandbyNames           string
	OldestSnapshot         time.Duration
	DeadVersions, SizeByte int64
}

// Server asks the server about what an operator should know.
func (s *Store) Server(ctx context.Context) (found Server, err error) {
	var oldest int64
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, s.sql.server, s.table.quoted()).Scan(&found.Version, &found.Fsync, &found.FullPages,
			&found.Standbys, &found.Synchronous, &found.StandbyNames, &oldest, &found.DeadVersions, &found.SizeByte)
	})
	found.OldestSnapshot = time.Duration(oldest) * time.Second
	return found, err
}

// alone sends what only reads, and may be asked of a standby: a statement without a transaction around it. It is sent
// once more if the first connection broke.
func (s *Store) alone(ctx context.Context, ask func(ctx context.Context, conn *pgx.Conn) error) error {
	once := func() error {
		return s.by(ctx, s.conns.traffic, func(conn *pgx.Conn, at time.Time) error {
			within, cancel := context.WithDeadline(s.conns.life, at)
			defer cancel()
			return meaning(ask(within, conn))
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
}

// List reads a page of the table, in the order of names, behind one name. Pattern is one of LIKE.
func (s *Store) List(ctx context.Context, pattern, behind string, most int) (rows []Row, err error) {
	err = s.alone(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err := conn.Query(ctx, s.sql.list, pattern, behind, most)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (r Row, err error) {
			var id *string
			var left *int64
			if err = row.Scan(&r.Name, &id, &left, &r.Fence, &r.Wanted); err == nil && id != nil {
				r.ID, r.TTL = *id, time.Duration(*left)*time.Millisecond
			}
			return r, err
		})
		return err
	})
	return rows, err
}

// Hears finds out whether this connection to the server delivers notifications. The error is [ErrDeaf] if it does not.
func (s *Store) Hears(ctx context.Context) error { return s.ears.try(ctx) }
