package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/pglock"
)

// The function runs with the lock held, or not at all. Its context ends if the lock is lost.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := pglock.NewClient(pool, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	order := client.Lock("order:1001")
	err = order.Do(ctx, func(ctx context.Context) error {
		hold, err := order.Held(ctx)
		if err != nil {
			return err
		}
		fmt.Println("nobody else works on this order; there is a fencing token:", hold.Fence > 0)
		return order.Do(ctx, func(context.Context) error { // with this ctx it re-enters
			fmt.Println("locked twice")
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// nobody else works on this order; there is a fencing token: true
	// locked twice
	// <nil>
}

// Migrate makes the table of locks, or what it lacks. Here the locks have a schema of their own.
func ExampleMigrate() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	if _, err := pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS locks"); err != nil {
		log.Fatal(err)
	}
	if err := pglock.Migrate(ctx, pool, "locks.holdfast_lock"); err != nil { // of each instance, at each start
		log.Fatal(err)
	}

	client, err := pglock.NewClient(pool, &pglock.Options{Table: "locks.holdfast_lock"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client.Lock("order:1001").Do(ctx, func(context.Context) error { return nil }))
	// Output:
	// <nil>
}

// A holder that does not know yet that another has the lock cannot commit.
func ExampleTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	first, err := pglock.NewClient(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	second, err := pglock.NewClient(pool, nil) // as in another process
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE account (balance int); INSERT INTO account VALUES (100)"); err != nil {
		log.Fatal(err)
	}
	withdraw := func(ctx context.Context, l *lock.Lock, amount int) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if err := pglock.Tx(ctx, tx, l); err != nil { // first of all
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE account SET balance = balance - $1", amount); err != nil {
			return err
		}
		return tx.Commit(context.WithoutCancel(ctx)) // which the end of the hold must not interrupt
	}

	account := first.Lock("account:1")
	held, unlock, err := account.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the first withdraws:", withdraw(held, account, 10))

	// An operator breaks the lock, and the second takes it. The first would be told by its next renewal.
	theirs := second.Lock("account:1")
	_ = theirs.Break(ctx)
	fmt.Println("the second withdraws:", theirs.Do(ctx, func(ctx context.Context) error {
		return withdraw(ctx, theirs, 20)
	}))
	fmt.Println("the first has noticed nothing:", held.Err() == nil)
	err = withdraw(held, account, 1000)
	fmt.Println("the first withdraws again, and has lost its lock:", errors.Is(err, lock.ErrLost))
	fmt.Println("its unlock says so, too:", errors.Is(unlock(), lock.ErrLost))

	var balance int
	_ = pool.QueryRow(ctx, "SELECT balance FROM account").Scan(&balance)
	fmt.Println(balance)
	// Output:
	// the first withdraws: <nil>
	// the second withdraws: <nil>
	// the first has noticed nothing: true
	// the first withdraws again, and has lost its lock: true
	// its unlock says so, too: true
	// 70
}

// Several names are locked by one statement: all of them, or none.
func Example_severalLocks() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := pglock.NewClient(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	transfer := multilock.New([]*lock.Lock{client.Lock("account:17"), client.Lock("account:42")})
	err = transfer.Do(ctx, func(ctx context.Context) error {
		holds, err := transfer.Held(ctx)
		for i, name := range transfer.Names() {
			fmt.Println(name, "is locked, with a token of its own:", holds[i].Fence > 0)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// account:17 is locked, with a token of its own: true
	// account:42 is locked, with a token of its own: true
	// <nil>
}

// Every replica runs this. One leads, the others wait.
func Example_leader() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := pglock.NewClient(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	election := leader.New(client.Lock("scheduler"), leader.Value("10.0.0.1:80"))
	err = election.Run(ctx, func(term context.Context) error {
		who, err := election.Current(term) // or in any other process
		fmt.Println("leading:", who.Value)
		return err // a real leader works until term ends
	})
	fmt.Println(err)
	_, err = election.Current(ctx)
	fmt.Println(errors.Is(err, leader.ErrNoLeader))
	// Output:
	// leading: 10.0.0.1:80
	// <nil>
	// true
}

// MaxHold bounds how long a stuck holder blocks others.
func Example_maxHold() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := pglock.NewClient(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Lock("report", lock.MaxHold(100*time.Millisecond)).Do(ctx, func(ctx context.Context) error {
		<-ctx.Done() // the work is stuck
		return nil
	})
	var lost *lock.LostError
	fmt.Println(errors.As(err, &lost), lost.Reason == lock.LossMaxHold)
	fmt.Println(client.Lock("report").Do(ctx, func(context.Context) error { return nil }))
	// Output:
	// true true
	// <nil>
}

// List tells what the table has. A name that was locked once stays there.
func ExampleList() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := pglock.NewClient(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_ = client.Lock("printer:1").Do(ctx, func(context.Context) error { return nil })
	_ = client.Lock("printer:2").Do(ctx, func(ctx context.Context) error {
		for entry, err := range pglock.List(ctx, client, "printer:%") {
			if err != nil {
				return err
			}
			fmt.Println(entry.Name, "is free:", entry.Free())
		}
		return nil
	})
	// Output:
	// printer:1 is free: true
	// printer:2 is free: false
}
