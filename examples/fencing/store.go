package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the driver: SQLite in this process, in pure Go
)

// ErrStale refuses a write whose fencing token is older than one that the storage has seen.
var ErrStale = errors.New("a newer holder has written since")

// store keeps balances, each with the newest fencing token that wrote it.
type store struct{ db *sql.DB }

// openStore opens the database of a file.
func openStore(ctx context.Context, file string) (*store, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS account (
		id      TEXT PRIMARY KEY,
		balance INTEGER NOT NULL,
		fence   INTEGER NOT NULL -- 64 bits: tokens are as large as the time in microseconds
	)`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &store{db}, nil
}

func (s *store) close() error { return s.db.Close() }

// open creates an account, which nobody has written under a lock yet.
func (s *store) open(ctx context.Context, id string, balance int64) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO account (id, balance, fence) VALUES (?, ?, 0)`, id, balance)
	return err
}

// read returns a balance. A caller that reads in order to write later passes its token too: from then on no older
// holder can write what this reader did not see.
func (s *store) read(ctx context.Context, id string, fence int64) (balance int64, err error) {
	err = s.db.QueryRowContext(ctx,
		`UPDATE account SET fence = ? WHERE id = ? AND fence <= ? RETURNING balance`, fence, id, fence,
	).Scan(&balance)
	return balance, s.told(id, fence, err)
}

// write sets a balance. The comparison is part of the statement that writes, so nothing can come between them.
func (s *store) write(ctx context.Context, id string, balance, fence int64) error {
	err := s.db.QueryRowContext(ctx,
		`UPDATE account SET balance = ?, fence = ? WHERE id = ? AND fence <= ? RETURNING id`,
		balance, fence, id, fence,
	).Scan(new(string))
	return s.told(id, fence, err)
}

func (s *store) told(id string, fence int64, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("account %q, token %d: %w", id, fence, ErrStale)
	}
	return err
}
