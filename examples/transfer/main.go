// Command transfer moves money between accounts, each transfer under a lock on both of them. Four clerks
// work at a time, in all directions, while a fifth dies with a transfer half done. The next clerk that
// needs one of its accounts finds its plan and finishes it. The total is the same at the end, and the
// program exits non-zero if any check fails.
//
//	go run ./examples/transfer
//	REDIS_URL=redis://localhost:6379 go run ./examples/transfer
//
// Without REDIS_URL it starts a Redis-compatible server in this process.
//
// Two locks taken one after the other would deadlock as soon as one clerk moves money from account 1 to
// account 2 and another from 2 to 1. Package multilock takes both or none.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
)

const (
	accounts  = 4
	opening   = 100 // on each account
	clerks    = 4
	transfers = 25 // by each of them, before the death and after it

	// lease is how long the accounts of a dead clerk stay locked. It is short, so that the wait can be
	// watched; the default is 30 s.
	lease = time.Second

	// patience bounds the whole run; no step takes anywhere near as long.
	patience = time.Minute
)

const (
	urlEnv  = "REDIS_URL"
	bankEnv = "TRANSFER_BANK" // set for the clerk who dies
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := day
	if os.Getenv(bankEnv) != "" {
		run = lastTransfer
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// day is a day at the bank.
func day(ctx context.Context) (err error) {
	url := os.Getenv(urlEnv)
	if url == "" {
		server, err := miniredis.Run()
		if err != nil {
			return err
		}
		server.ClockTTL(true) // otherwise no key expires unless a test says so
		defer server.Close()
		url = "redis://" + server.Addr()
	}
	name := "bank:" + uuid.NewString()[:8]
	var staff []*clerk
	for i := range clerks {
		c, err := newClerk(url, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		c.seed(i)
		staff = append(staff, c)
	}
	d := &diary{start: time.Now(), bank: staff[0].bank}
	if err := d.bank.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.bank.remove(context.WithoutCancel(ctx))) }()
	d.say("%d accounts with %d each; a lease of %v", accounts, opening, lease)

	if err := d.work(ctx, staff); err != nil {
		return err
	}
	account, fence, err := d.death(ctx, url, name)
	if err != nil {
		return err
	}
	if err := d.work(ctx, staff); err != nil {
		return err
	}
	settled := 0
	for _, c := range staff {
		settled += c.settled
	}
	if err := d.check(settled == 1, "%d half transfer was found, and finished", settled); err != nil {
		return err
	}
	err = d.bank.put(ctx, account, 1_000_000, fence)
	if err := d.check(errors.Is(err, errStale),
		"what the dead clerk might still have written is refused: %v", err); err != nil {
		return err
	}
	return d.closing(ctx, staff[0])
}

// closing checks the balances after all work has ended.
func (d *diary) closing(ctx context.Context, c *clerk) error {
	total, err := d.bank.total(ctx)
	if err != nil {
		return err
	}
	if err := d.check(total == accounts*opening, "the total is %d", total); err != nil {
		return err
	}
	for i := range accounts {
		info, err := c.lock(i).Inspect(ctx)
		if err != nil {
			return err
		}
		if len(info.Holders) > 0 {
			return fmt.Errorf("account %d is still locked", i)
		}
	}
	return d.check(true, "no account is locked")
}
