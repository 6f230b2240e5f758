package main

import (
	"context"
	"database/sql"
	"errors"

	_ "modernc.org/sqlite" // the driver: SQLite in this process, in pure Go

	"github.com/holdfast-go/holdfast/fence"
)

// store keeps balances. The guard keeps the newest fencing token that came to each account.
type store struct {
	db    *sql.DB
	guard *fence.SQL
}

// openStore opens the database of a file.
func openStore(ctx context.Context, file string) (*store, error) {
	guard, err := fence.NewSQL(fence.SQLite, "fences")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL)`, guard.Schema(),
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return &store{db, guard}, nil
}

func (s *store) close() error { return s.db.Close() }

// open creates an account, which nobody has written under a lock yet.
func (s *store) open(ctx context.Context, id string, balance int64) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO account (id, balance) VALUES (?, ?)`, id, balance)
	return err
}

// read returns a balance. A caller that reads in order to write later passes its token too: from then on no older
// holder can write what this reader did not see.
func (s *store) read(ctx context.Context, id string, token int64) (balance int64, err error) {
	err = s.guard.Tx(ctx, s.db, id, token, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT balance FROM account WHERE id = ?`, id).Scan(&balance)
	})
	return balance, err
}

// write sets a balance. Whatever else the transaction did would fail with it, if the token were stale.
func (s *store) write(ctx context.Context, id string, balance, token int64) error {
	return s.guard.Tx(ctx, s.db, id, token, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE account SET balance = ? WHERE id = ?`, balance, id)
		return err
	})
}
