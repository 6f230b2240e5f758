package pglock

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock/internal/pgstore"
)

// Migration is a numbered change of the table of locks.
type Migration = pgstore.Migration

// Migrations returns the changes that make the table of locks what this version needs, in their order. Give them to the
// tool that migrates your database, or call [Migrate]. "" means the table that [Options] has by default. The user of
// the Client needs SELECT, INSERT and UPDATE on the table, and USAGE on its schema.
//
// A later version may have more of them, and changes none of these. Each is one statement (DO) with its own number,
// which may be executed again, and by several instances at once: they wait for one another by an advisory lock. A
// change only adds columns, so Clients of earlier versions go on; migrate first, then start the new programs. The first
// call of a Client whose table lacks what it needs is refused with a [SchemaError] that names the number to execute. It
// does not need number 2, without which processes behind a transaction pooler have few turns beside others.
//
// A name that [Options] would refuse is a *lock.ArgumentError.
func Migrations(table string) ([]Migration, error) {
	o, _, err := Options{Table: table}.checked()
	if err != nil {
		return nil, err
	}
	return pgstore.Migrations(pgstore.Table(o.Table)), nil
}

// Migrate executes those of [Migrations] that the table has not had, in one transaction. Every instance of a program
// may call it as it starts, all at once: one does it, and the others wait. The columns of the table say what it has
// had, so nothing else has to be kept. Where there is nothing to do it writes nothing, takes no lock, and needs no
// right but to look.
//
// The user of db, a pool or a connection, needs the right to create the table, or has to own it. A change waits only a
// second for transactions that use the table, since requests for locks wait behind it, and is then tried again until
// ctx ends.
func Migrate(ctx context.Context, db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, table string) error {
	switch {
	case ctx == nil:
		return &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	case db == nil:
		return &lock.ArgumentError{Name: "db", Problem: "must not be nil"}
	}
	o, _, err := Options{Table: table}.checked()
	if err != nil {
		return err
	}
	if err := pgstore.Migrate(ctx, db, pgstore.Table(o.Table)); err != nil {
		return fmt.Errorf("holdfast: cannot migrate: %w", err)
	}
	return nil
}
