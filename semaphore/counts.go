package semaphore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

// counts is the protocol of permits that nobody owns, in the layout of Redisson's RSemaphore: a number at the name
// itself, and a channel on which it is published. That layout has no place for an id, so a key beside it remembers
// the requests.
type counts struct {
	holdless
	handle
	count  int64
	traits store.Traits
}

func (c *counts) Name() string    { return c.name }
func (c *counts) Key() string     { return c.key }
func (c *counts) Mode() string    { return "count" }
func (c *counts) Channel() string { return c.channel() }

// Traits say that any number of callers ask at a time, as long as Redis refuses none.
func (c *counts) Traits() *store.Traits { return &c.traits }

// Count is how many permits it asks for.
func (c *counts) Count() int64 { return c.count }

// RequestLife is how long a request is remembered that took something and was not answered.
func (c *counts) RequestLife() time.Duration {
	return time.Duration(c.core.RequestLife) * time.Millisecond
}

// TooMany is the error of a change by n where no more than most fit; below zero, no fewer.
func (*counts) TooMany(n, most int64) error {
	if n < 0 {
		return &rlock.ArgumentError{Name: "n", Value: n, Problem: fmt.Sprintf("must be at least %d now", most)}
	}
	return &rlock.ArgumentError{Name: "n", Value: n, Problem: fmt.Sprintf("must be at most %d now", most)}
}

func (c *counts) at(sharded bool) luacall.Counter {
	return luacall.Counter{Free: c.key, Channel: c.channel(), Sharded: sharded}
}

func (c *counts) Acquire(
	ctx context.Context, conn luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	r := ask.Remembered(c.requests())
	r.Until = ask.NotAfter + 1000*c.core.RequestLife
	return luacall.CountAcquire(c.at(c.core.Store.Sharded()), c.count, ask.Once, r).Run(ctx, conn)
}

// Remembers implements [redisstore.Rememberer].
func (c *counts) Remembers() {}

// Release cancels a request. Once a request is answered, nobody holds the permits that it took.
func (c *counts) Release(id string, sharded, _ bool) *luacall.Call[luacall.ReleaseReply] {
	return luacall.CountCancel(c.at(sharded), c.count, luacall.Request{Key: c.requests(), ID: id}, c.core.RequestLife)
}

// errVerb is never seen: the handles make no other changes.
var errVerb = errors.New("semaphore: there is no such change")

// Change sets, changes or deletes the number, or looks at it.
func (c *counts) Change(
	ctx context.Context, conn luacall.Conn, what store.Change, ask *redisstore.Ask,
) (luacall.CountReply, error) {
	at, r := c.at(c.core.Store.Sharded()), ask.Remembered(c.requests())
	switch what.Verb {
	case store.Look:
		return luacall.CountLook(c.key).Run(ctx, conn)
	case store.Set:
		return luacall.CountSet(at, what.N, r).Run(ctx, conn)
	case store.Add:
		reply, err := luacall.CountRelease(at, what.N, r).Run(ctx, conn)
		if most, refused := luacall.Capacity(err); refused {
			err = &store.Refused{Err: c.TooMany(what.N, most)}
		}
		return reply, err
	case store.Drain:
		return luacall.CountDrain(at, r).Run(ctx, conn)
	case store.Delete:
		return luacall.CountDelete(at, r).Run(ctx, conn)
	default:
		return luacall.CountReply{}, &store.Refused{Err: errVerb}
	}
}
