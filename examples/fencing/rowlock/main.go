// Command rowlock is what to do without a lock of this module: the lock guards rows of one database, and the work fits
// into one transaction. Then the database's own lock is enough. SELECT … FOR UPDATE locks a row until its transaction
// ends, and NOWAIT makes a second one fail at once, as TryLock does.
//
//	DATABASE_URL=postgres://postgres@localhost/postgres go run ./rowlock
//
// A row lock has no lease and needs no fencing token: when the holder's connection breaks, the database rolls back what
// it wrote, and frees the row in one step. It takes a connection for as long as it is held, and guards nothing outside
// of the database: no payment, no e-mail, no file. For those take a lock of this module, and guard the writes by its
// token, as the program beside this one does.
//
// It exits non-zero if any check fails.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

const (
	patience = time.Minute // for the whole run, which takes a moment
	lockBusy = "55P03"     // PostgreSQL's lock_not_available
)

// errBusy is what rlock.ErrBusy is for a lock.
var errBusy = errors.New("another transaction has the row")

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx, os.Getenv("DATABASE_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) (err error) {
	if url == "" {
		return errors.New("set DATABASE_URL to a PostgreSQL, for example postgres://postgres@localhost/postgres")
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, statement := range []string{
		`DROP TABLE IF EXISTS rowlock_account`,
		`CREATE TABLE rowlock_account (id TEXT PRIMARY KEY, balance BIGINT NOT NULL)`,
		`INSERT INTO rowlock_account VALUES ('alice', 100)`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := atATime(ctx, db); err != nil {
		return err
	}
	if err := holderThatDies(ctx, db); err != nil {
		return err
	}
	var balance int64
	if err := db.QueryRowContext(ctx, `SELECT balance FROM rowlock_account`).Scan(&balance); err != nil {
		return err
	}
	if balance != 100-30-50 {
		return fmt.Errorf("the balance is %d: a withdrawal was lost", balance)
	}
	fmt.Printf("The balance is %d: nothing was lost. Everything was as it should be\n", balance)
	return nil
}

// atATime shows that the second transaction is refused while the first one has the row.
func atATime(ctx context.Context, db *sql.DB) error {
	err := withdraw(ctx, db, 30, func(*sql.Tx) error {
		fmt.Println("The first withdrawal has the row, and the second one does not wait for it")
		err := withdraw(ctx, db, 50, nothing)
		fmt.Printf("  second: %v\n", err)
		if !errors.Is(err, errBusy) {
			return fmt.Errorf("the second withdrawal should have been refused: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return withdraw(ctx, db, 50, nothing)
}

// holderThatDies shows that a broken connection takes the lock and all that was written with it.
func holderThatDies(ctx context.Context, db *sql.DB) error {
	err := withdraw(ctx, db, 1000, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	})
	if err == nil {
		return errors.New("the holder's connection should have broken")
	}
	fmt.Println("A holder's connection breaks before it commits: the row gets free, and what it wrote is gone")
	return withdrawSoon(ctx, db, 0)
}

// withdrawSoon waits for the row: a server tells the client of a connection that it ends before it has rolled back the
// transaction and let go of the row.
func withdrawSoon(ctx context.Context, db *sql.DB, amount int64) error {
	for {
		err := withdraw(ctx, db, amount, nothing)
		if !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func nothing(*sql.Tx) error { return nil }

// withdraw reads the balance under a lock on the row, writes what is left, and calls meanwhile before it commits. All
// of it is one transaction: nobody can write in between.
func withdraw(
	ctx context.Context, db *sql.DB, amount int64, meanwhile func(tx *sql.Tx) error,
) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // a connection that is broken has been rolled back
		}
	}()
	var balance int64
	err = tx.QueryRowContext(ctx, `SELECT balance FROM rowlock_account WHERE id = 'alice' FOR UPDATE NOWAIT`).
		Scan(&balance)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == lockBusy {
		return errBusy
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE rowlock_account SET balance = $1 WHERE id = 'alice'`, balance-amount)
	if err != nil {
		return err
	}
	if err := meanwhile(tx); err != nil {
		return err
	}
	return tx.Commit()
}
