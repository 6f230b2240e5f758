package semaphore

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
)

// counts is the protocol of permits that nobody owns, in the layout of Redisson's RSemaphore: a number at the name
// itself, and a channel on which it is published. That layout has no place for an id, so a key beside it remembers
// the requests.
type counts struct {
	holdless
	handle
	count int64
}

func (c *counts) Name() string    { return c.name }
func (c *counts) Key() string     { return c.key }
func (c *counts) Mode() string    { return "count" }
func (c *counts) Channel() string { return c.channel() }

func (c *counts) at(sharded bool) lua.Counter {
	return lua.Counter{Free: c.key, Channel: c.channel(), Sharded: sharded}
}

func (c *counts) Acquire(
	ctx context.Context, conn lua.Conn, ask store.Ask,
) (lua.AcquireReply, error) {
	r := c.remember(ask)
	r.Until = ask.NotAfter + 1000*c.core.RequestLife
	return lua.CountAcquire(c.at(c.core.Store.Sharded()), c.count, ask.Once, r).Run(ctx, conn)
}

// Release cancels a request. Once a request is answered, nobody holds the permits that it took.
func (c *counts) Release(id string, sharded, _ bool) *lua.Call[lua.ReleaseReply] {
	return lua.CountCancel(c.at(sharded), c.count, c.remember(store.Ask{ID: id}), c.core.RequestLife)
}
