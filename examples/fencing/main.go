// Command fencing shows the use of a fencing token: storage that refuses older tokens than it has seen
// rejects a holder that does not know yet that it lost its lock. The storage is an SQL database (SQLite, in
// this process), the lock any lock of this module; nothing has to be installed.
//
//	cd examples/fencing && go run .
//	REDIS_URL=redis://localhost:6379 go run .
//
// It is a module of its own, because the database is a large dependency that the locks do not have. It exits
// non-zero if any check fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	lease    = time.Second // short, so that its end can be watched
	patience = time.Minute // for the whole run, which takes a few leases
	account  = "alice"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	rdb, stop, err := connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	dir, err := os.MkdirTemp("", "fencing-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	accounts, err := openStore(ctx, filepath.Join(dir, "accounts.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.close()) }()
	if err := accounts.open(ctx, account, 100); err != nil {
		return err
	}
	fmt.Println("An account with 100, in a database that keeps the newest fencing token of every name")
	return sleeper(ctx, rdb, accounts)
}

// sleeper is the scenario: a holder sleeps between reading and writing, for longer than its lease.
func sleeper(ctx context.Context, rdb redis.UniversalClient, accounts *store) (err error) {
	first, err := newHolder("first", rdb, accounts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.client.Close()) }()
	second, err := newHolder("second", rdb, accounts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.client.Close()) }()

	withdrawal, err := first.begin(ctx)
	if err != nil {
		return err
	}
	fmt.Println("The first holder now stops, for longer than its lease: a long pause, a suspended machine")
	// A lease that is not renewed stands for a process that cannot renew. Its context would end, but this
	// holder does not check it, like a process that was stopped between checking and writing.
	if err := second.withdraw(ctx, 30); err != nil {
		return err
	}
	fmt.Println("The first holder runs again, and writes what it worked out before")
	err = withdrawal.finish(ctx, 50)
	fmt.Printf("  first:  %v\n", err)
	if !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("the stale write was not refused: %w", err)
	}
	if err := withdrawal.unlock(); !errors.Is(err, rlock.ErrLost) {
		return fmt.Errorf("the first holder's unlock should tell the loss: %w", err)
	}
	fmt.Println("It begins anew, on what is there now")
	if err := first.withdraw(ctx, 50); err != nil {
		return err
	}
	var balance int64
	err = accounts.db.QueryRowContext(ctx, `SELECT balance FROM account WHERE id = ?`, account).Scan(&balance)
	if err != nil {
		return err
	}
	if balance != 100-30-50 {
		return fmt.Errorf("the balance is %d: a withdrawal was lost", balance)
	}
	fmt.Printf("The balance is %d: nothing was lost. Everything was as it should be\n", balance)
	return nil
}

// holder is one process.
type holder struct {
	name     string
	client   *rlock.Client
	lock     *rlock.Lock
	accounts *store
}

func newHolder(name string, rdb redis.UniversalClient, accounts *store) (*holder, error) {
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: lease, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	return &holder{name, client, rlock.New(client, "account:"+account, rlock.FixedLease(lease)), accounts}, nil
}

// withdrawal is a holder's state between reading and writing.
type withdrawal struct {
	*holder
	balance int64
	token   int64
	unlock  func() error
}

// begin takes the lock, and reads under its token.
func (h *holder) begin(ctx context.Context) (*withdrawal, error) {
	held, unlock, err := h.lock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	hold, err := h.lock.Held(held)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	balance, err := h.accounts.read(held, account, hold.Fence)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	fmt.Printf("  %-7s holds the lock with token %d, and reads %d\n", h.name+":", hold.Fence, balance)
	return &withdrawal{h, balance, hold.Fence, unlock}, nil
}

// finish writes with the token under which the balance was read.
func (w *withdrawal) finish(ctx context.Context, amount int64) error {
	return w.accounts.write(ctx, account, w.balance-amount, w.token)
}

// withdraw does both steps at once, as intended.
func (h *holder) withdraw(ctx context.Context, amount int64) error {
	w, err := h.begin(ctx)
	if err != nil {
		return err
	}
	err = w.finish(ctx, amount)
	if err == nil {
		fmt.Printf("  %-7s writes %d\n", h.name+":", w.balance-amount)
	}
	return errors.Join(err, w.unlock())
}

// connect uses the Redis that REDIS_URL names, or starts one in this process.
func connect() (rdb redis.UniversalClient, stop func() error, err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		o, err := redis.ParseURL(url)
		if err != nil { // its text has the password
			return nil, nil, errors.New("REDIS_URL is no URL: special characters of a password are written %XX")
		}
		rdb = redis.NewClient(o)
		return rdb, rdb.Close, nil
	}
	server, err := miniredis.Run()
	if err != nil {
		return nil, nil, err
	}
	server.ClockTTL(true) // otherwise no key expires unless a test says so
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return rdb, func() error {
		defer server.Close()
		return rdb.Close()
	}, nil
}
