package redisson_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/semaphore"
)

// permitGo is a client of this process, and what it does with semaphores and latches.
type permitGo struct{ *goSide }

// waitsFor starts a call that must wait, and returns once it waits and the channel has a subscriber.
func (g permitGo) waitsFor(channel string, call func(ctx context.Context) error) <-chan error {
	g.t.Helper()
	before := g.client.Stats().Waiters
	c := make(chan error, 1)
	go func() { c <- call(context.Background()) }()
	redistest.Eventually(g.t, limit, func() bool { return g.client.Stats().Waiters > before }, "the call does not wait")
	redistest.Eventually(g.t, limit, func() bool {
		for _, s := range g.servers {
			for _, heard := range s.PubSubChannels(g.t) {
				if heard == channel {
					return true
				}
			}
		}
		return false
	}, "nobody listens on "+channel)
	return c
}

// comes waits for a call that waited.
func (g permitGo) comes(c <-chan error) {
	g.t.Helper()
	require.NoError(g.t, redistest.Receive(g.t, limit, c, "the waiter of this process was not woken"))
}

func permitChannel(name string) string { return keys.Prefix("redisson_sc", name) }
func latchChannel(name string) string  { return "redisson_countdownlatch__channel__{" + name + "}" }

// inside is a set of the callers that have a permit: it must never have more members than there are permits.
type inside struct {
	rdb      redis.UniversalClient
	key      string
	capacity int64
}

// visit reports whether there were too many.
func (p inside) visit(ctx context.Context, me string) (overlap bool, err error) {
	if err := p.rdb.ZAdd(ctx, p.key, redis.Z{Member: me}).Err(); err != nil {
		return false, err
	}
	time.Sleep(2 * time.Millisecond) // time for another to get in
	count, err := p.rdb.ZCard(ctx, p.key).Result()
	if err != nil {
		return false, err
	}
	return count > p.capacity, p.rdb.ZRem(ctx, p.key, me).Err()
}

// permitVisitor acquires and releases permits of a name until it is killed, and says when too many were inside.
var permitVisitor = role.New("visitor", func(o orders) {
	rdb, client := o.open()
	p := inside{rdb: rdb, key: o.Name + ":inside", capacity: o.Capacity}
	s := semaphore.New(client, o.Name)
	fmt.Println("ready")
	for {
		role.Check(s.Do(context.Background(), 1, func(ctx context.Context) error {
			overlap, err := p.visit(ctx, o.Me)
			if overlap {
				fmt.Println("overlap")
			}
			return err
		}))
	}
})
