package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// clerk moves money: a process of its own.
type clerk struct {
	bank    *bank
	client  *rlock.Client
	random  *rand.Rand
	settled int // transfers of others that it finished
}

func newClerk(url, name string) (*clerk, error) {
	o, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		return nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
	}
	rdb := redis.NewClient(o)
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: lease, FenceTTL: patience, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &clerk{bank: &bank{rdb: rdb, name: name}, client: client}, nil
}

func (c *clerk) seed(n int) { c.random = rand.New(rand.NewPCG(uint64(n), 17)) }

func (c *clerk) close() error { return errors.Join(c.client.Close(), c.bank.rdb.Close()) }

func (c *clerk) lock(account int) *rlock.Lock {
	return rlock.New(c.client, c.bank.name+":account:"+strconv.Itoa(account))
}

// errUnfinished is a transfer that another clerk left half done.
type errUnfinished struct{ plan plan }

func (errUnfinished) Error() string { return "somebody has left a transfer half done" }

// transfer moves money, if there is enough. It first finishes any unfinished transfer that it finds.
func (c *clerk) transfer(ctx context.Context, from, to int, amount int64) error {
	for {
		err := c.with(ctx, from, to, func(ctx context.Context, fences [2]int64) error {
			return c.move(ctx, from, to, amount, fences)
		})
		var left errUnfinished
		if !errors.As(err, &left) {
			return err
		}
		// Its other account is not locked here. Waiting for it while these two are locked could deadlock.
		if err := c.finish(ctx, left.plan); err != nil {
			return err
		}
	}
}

// with calls fn with both accounts locked, and with a fencing token for each.
func (c *clerk) with(
	ctx context.Context, from, to int, fn func(ctx context.Context, fences [2]int64) error,
) error {
	both := multilock.New([]*rlock.Lock{c.lock(from), c.lock(to)})
	return both.Do(ctx, func(ctx context.Context) error {
		holds, err := both.Held(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, [2]int64{holds[0].Fence, holds[1].Fence})
	})
}

// move needs both accounts to be locked.
func (c *clerk) move(ctx context.Context, from, to int, amount int64, fences [2]int64) error {
	for _, account := range []int{from, to} {
		left, err := c.bank.planned(ctx, account)
		if err != nil {
			return err
		}
		if left != nil {
			return errUnfinished{*left}
		}
	}
	p, err := c.plan(ctx, from, to, amount)
	if err != nil || p.Balances[0] < 0 {
		return err
	}
	if err := c.bank.announce(ctx, p); err != nil {
		return err
	}
	return c.carryOut(ctx, p, fences)
}

func (c *clerk) plan(ctx context.Context, from, to int, amount int64) (plan, error) {
	debtor, err := c.bank.balance(ctx, from)
	if err != nil {
		return plan{}, err
	}
	creditor, err := c.bank.balance(ctx, to)
	return plan{From: from, To: to, Balances: [2]int64{debtor - amount, creditor + amount}}, err
}

func (c *clerk) carryOut(ctx context.Context, p plan, fences [2]int64) error {
	if err := c.bank.put(ctx, p.From, p.Balances[0], fences[0]); err != nil {
		return err
	}
	if err := c.bank.put(ctx, p.To, p.Balances[1], fences[1]); err != nil {
		return err
	}
	return c.bank.forget(ctx, p)
}

// finish carries out a transfer that another clerk left, unless a third one has done so meanwhile.
func (c *clerk) finish(ctx context.Context, p plan) error {
	return c.with(ctx, p.From, p.To, func(ctx context.Context, fences [2]int64) error {
		still, err := c.bank.planned(ctx, p.From)
		if err != nil || still == nil || *still != p {
			return err
		}
		c.settled++
		return c.carryOut(ctx, p, fences)
	})
}
