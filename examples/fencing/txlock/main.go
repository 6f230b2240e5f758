// Command txlock makes a write that a holder cannot commit once another one has had its lock, whatever it knows of it.
// It needs a PostgreSQL: DATABASE_URL=postgres://postgres@localhost/postgres go run ./txlock
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// withdraw writes in a short transaction at the end of work that may be long, under the hold in ctx. Tx comes first:
// it fails if the hold is lost, and otherwise keeps the lock from others until the transaction has ended. A broken
// connection takes the transaction with it, and not the lock: call withdraw again. What the holder does elsewhere is
// not taken back: guard that by the fencing token.
func withdraw(ctx context.Context, pool *pgxpool.Pool, account *lock.Lock, amount int64) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if err := pglock.Tx(ctx, tx, account); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE txlock_account SET balance = balance - $1`, amount); err != nil {
		return err
	}
	return tx.Commit(context.WithoutCancel(ctx)) // a loss does not interrupt it, so its error says what became of it
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	err1 := pglock.Migrate(ctx, pool, "")
	_, err2 := pool.Exec(ctx, `DROP TABLE IF EXISTS txlock_account;
		CREATE TABLE txlock_account (balance BIGINT NOT NULL); INSERT INTO txlock_account VALUES (100)`)
	first, err3 := pglock.NewClient(pool, nil)
	second, err4 := pglock.NewClient(pool, nil) // in another process
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		log.Fatal(err)
	}
	defer func() { _, _ = first.Close(), second.Close() }()
	mine, theirs := first.Lock("txlock:alice"), second.Lock("txlock:alice")
	held, unlock, err := mine.Lock(ctx)
	fmt.Println("The first has the lock:", err)
	fmt.Println("The second takes it away:", theirs.Break(ctx)) // in life, the first is stopped for a lease
	err = theirs.Do(ctx, func(ctx context.Context) error { return withdraw(ctx, pool, theirs, 30) })
	fmt.Println("and withdraws 30:", err)
	fmt.Println("The first has not noticed:", held.Err() == nil)
	fmt.Println("and withdraws 1000:", withdraw(held, pool, mine, 1000))
	var balance int64
	err = pool.QueryRow(ctx, `SELECT balance FROM txlock_account`).Scan(&balance)
	fmt.Println("The balance is", balance, err, "and the first hears of its loss:", errors.Is(unlock(), lock.ErrLost))
}
