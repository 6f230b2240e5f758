package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/lock"
)

// biller bills accounts. It knows that there are locks, and not in which store.
type biller struct {
	name  string
	locks lock.Provider
	bank  *bank
}

// bill bills an account once, whatever other process wants to.
func (b *biller) bill(ctx context.Context, account string) error {
	l := b.locks.Lock("bill:" + account)
	return l.Do(ctx, func(ctx context.Context) error {
		if b.bank.billed(account) {
			return nil
		}
		hold, err := l.Held(ctx)
		if err != nil {
			return err
		}
		if err := b.bank.charge(account, hold.Fence); err != nil {
			return err
		}
		fmt.Printf("  %-6s biller: %-5s is billed, under token %d\n", b.name, account, hold.Fence)
		return nil
	})
}

func (b *biller) billAll(ctx context.Context, accounts []string) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, account := range accounts {
		all.Go(func() error { return b.bill(ctx, account) })
	}
	return all.Wait()
}

// bank stands for the service that takes the money. It charges as often as it is asked to, and takes its time, so that
// two callers that do not exclude each other both find an account that was not billed.
type bank struct {
	mu     sync.Mutex // guards all below
	bills  map[string]int
	tokens map[string]int64 // the newest that came for each account
}

const slow = 20 * time.Millisecond

func newBank() *bank { return &bank{bills: make(map[string]int), tokens: make(map[string]int64)} }

func (b *bank) billed(account string) bool {
	time.Sleep(slow)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bills[account] > 0
}

// charge refuses a holder that was overtaken by a newer one while it was stopped.
func (b *bank) charge(account string, token int64) error {
	time.Sleep(slow)
	b.mu.Lock()
	defer b.mu.Unlock()
	if token <= b.tokens[account] {
		return fmt.Errorf("%s: token %d is not newer than %d", account, token, b.tokens[account])
	}
	b.tokens[account] = token
	b.bills[account]++
	return nil
}

// check tells whether each account was billed once.
func (b *bank) check(accounts []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, account := range accounts {
		if n := b.bills[account]; n != 1 {
			return fmt.Errorf("%s was billed %d times", account, n)
		}
	}
	return nil
}
