package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// bank stores the balances. It knows nothing of locks. A transfer is several writes, and a clerk can die between any
// two of them. The bank supports locks only by refusing a write with an older fencing token than the last one.
type bank struct {
	rdb  *redis.Client
	name string // of the keys, all in one slot
}

// plan is a transfer in progress: the balances that it will set, so that any clerk can carry it out again. It is
// stored at both accounts before the first balance is written.
type plan struct {
	From, To int
	Balances [2]int64
}

var errStale = errors.New("an older token than the last one")

// put refuses a token that is older than the account's.
var put = redis.NewScript(`
local last = redis.call('HGET', KEYS[1], 'fence')
if last and tonumber(last) > tonumber(ARGV[2]) then
  return 0
end
redis.call('HSET', KEYS[1], 'balance', ARGV[1], 'fence', ARGV[2])
return 1`)

func (b *bank) key(what string, account int) string {
	return "{" + b.name + "}:" + what + ":" + strconv.Itoa(account)
}

func (b *bank) open(ctx context.Context) error {
	for i := range accounts {
		if err := b.put(ctx, i, opening, 0); err != nil {
			return err
		}
	}
	return nil
}

func (b *bank) remove(ctx context.Context) error {
	var keys []string
	for i := range accounts {
		keys = append(keys, b.key("account", i), b.key("plan", i))
	}
	return b.rdb.Del(ctx, keys...).Err()
}

func (b *bank) balance(ctx context.Context, account int) (int64, error) {
	return b.rdb.HGet(ctx, b.key("account", account), "balance").Int64()
}

func (b *bank) put(ctx context.Context, account int, balance, fence int64) error {
	done, err := put.Run(ctx, b.rdb, []string{b.key("account", account)}, balance, fence).Int()
	if err == nil && done == 0 {
		return errStale
	}
	return err
}

func (b *bank) total(ctx context.Context) (total int64, err error) {
	for i := range accounts {
		balance, err := b.balance(ctx, i)
		if err != nil {
			return 0, err
		}
		total += balance
	}
	return total, nil
}

// solvent returns an account with money in it, and another one.
func (b *bank) solvent(ctx context.Context) (from, to int, err error) {
	for i := range accounts {
		balance, err := b.balance(ctx, i)
		if err != nil || balance > 0 {
			return i, (i + 1) % accounts, err
		}
	}
	return 0, 0, errors.New("there is no money left")
}

// announce stores a plan at both of its accounts.
func (b *bank) announce(ctx context.Context, p plan) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return b.rdb.MSet(ctx, b.key("plan", p.From), text, b.key("plan", p.To), text).Err()
}

// planned returns the plan that is announced at an account, or nil.
func (b *bank) planned(ctx context.Context, account int) (*plan, error) {
	text, err := b.rdb.Get(ctx, b.key("plan", account)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := new(plan)
	return p, json.Unmarshal(text, p)
}

func (b *bank) forget(ctx context.Context, p plan) error {
	return b.rdb.Del(ctx, b.key("plan", p.From), b.key("plan", p.To)).Err()
}
