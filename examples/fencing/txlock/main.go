// Command txlock is the case of the program rowlock for work that does not fit into one transaction: a withdrawal is
// agreed with somebody outside of the database before it is written. A row lock would keep a transaction and its
// connection for all that time. A lock of package pglock keeps neither, and pglock.Tx makes the transaction at the end
// fail if the lock is not the holder's any more.
//
//	DATABASE_URL=postgres://postgres@localhost/postgres go run ./txlock
//
// It shows three things: a second withdrawal is refused while the first one is at work; a connection that breaks takes
// what was written with it, and not the lock; and a holder whose lock another has taken cannot commit, though it does
// not know. What the holder does outside of the database is not taken back: guard that by the fencing token, as the
// program in the folder above does.
//
// It exits non-zero if any check fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

const patience = time.Minute // for the whole run, which takes a moment

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
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := prepare(ctx, pool); err != nil {
		return err
	}
	first, err := newTeller(pool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.client.Close()) }()
	second, err := newTeller(pool) // as in another process
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.client.Close()) }()

	for _, step := range []func(ctx context.Context, first, second *teller) error{
		atATime, connectionThatBreaks, staleHolder,
	} {
		if err := step(ctx, first, second); err != nil {
			return err
		}
	}
	var balance int64
	if err := pool.QueryRow(ctx, `SELECT balance FROM txlock_account`).Scan(&balance); err != nil {
		return err
	}
	if balance != 100-30-50 {
		return fmt.Errorf("the balance is %d: a withdrawal was lost, or made twice", balance)
	}
	fmt.Printf("The balance is %d: nothing was lost. Everything was as it should be\n", balance)
	return nil
}

// prepare makes the account and the table of locks, which the tool for migrations makes elsewhere.
func prepare(ctx context.Context, pool *pgxpool.Pool) error {
	locks, err := pglock.Migration("")
	if err != nil {
		return err
	}
	for _, statement := range []string{
		locks,
		`DROP TABLE IF EXISTS txlock_account`,
		`CREATE TABLE txlock_account (id TEXT PRIMARY KEY, balance BIGINT NOT NULL)`,
		`INSERT INTO txlock_account VALUES ('alice', 100)`,
	} {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// teller withdraws from the account.
type teller struct {
	pool   *pgxpool.Pool
	client *pglock.Client
	lock   *lock.Lock
}

func newTeller(pool *pgxpool.Pool) (*teller, error) {
	client, err := pglock.NewClient(pool, nil)
	if err != nil {
		return nil, err
	}
	return &teller{pool, client, client.Lock("txlock:alice")}, nil
}

// write withdraws within one transaction, under the hold in ctx. It calls meanwhile before it commits.
func (t *teller) write(ctx context.Context, amount int64, meanwhile func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if err := pglock.Tx(ctx, tx, t.lock); err != nil { // before all else
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE txlock_account SET balance = balance - $1 WHERE id = 'alice'`, amount)
		if err != nil {
			return err
		}
		return meanwhile(tx)
	})
}

func nothing(pgx.Tx) error { return nil }

// atATime shows that a second withdrawal is refused while the first one is at work, outside of any transaction.
func atATime(ctx context.Context, first, second *teller) error {
	return first.lock.Do(ctx, func(held context.Context) error {
		fmt.Println("The first withdrawal is being agreed, and the second one does not wait for it")
		_, _, err := second.lock.TryLock(held)
		fmt.Printf("  second: %v\n", err)
		if !errors.Is(err, lock.ErrBusy) {
			return fmt.Errorf("the second withdrawal should have been refused: %w", err)
		}
		return first.write(held, 30, nothing)
	})
}

// connectionThatBreaks shows that the lock outlives the connection of a transaction, so that the holder can try again.
func connectionThatBreaks(ctx context.Context, _, second *teller) error {
	return second.lock.Do(ctx, func(held context.Context) error {
		err := second.write(held, 1000, func(tx pgx.Tx) error {
			_, err := tx.Exec(held, `SELECT pg_terminate_backend(pg_backend_pid())`)
			return err
		})
		if err == nil {
			return errors.New("the connection of the transaction should have broken")
		}
		fmt.Println("The connection breaks before it commits: what it wrote is gone, and the lock is still held")
		return second.write(held, 50, nothing)
	})
}

// staleHolder shows that a holder cannot commit once another has taken the lock. Here an operator takes it away. The
// same happens to a process that is stopped for longer than its lease.
func staleHolder(ctx context.Context, first, second *teller) error {
	held, unlock, err := first.lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := second.lock.Break(ctx); err != nil {
		return errors.Join(err, unlock())
	}
	err = second.lock.Do(ctx, func(context.Context) error {
		fmt.Println("The second has the lock now, which the first one does not know:", held.Err() == nil)
		err := first.write(held, 1000, nothing)
		fmt.Printf("  first:  %v\n", err)
		if !errors.Is(err, lock.ErrLost) {
			return fmt.Errorf("the first one's transaction should have failed: %w", err)
		}
		return nil
	})
	if lost := unlock(); !errors.Is(lost, lock.ErrLost) {
		return errors.Join(err, fmt.Errorf("its unlock should tell the loss: %w", lost))
	}
	return err
}
