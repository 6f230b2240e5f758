package latch

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// gate is the protocol of a wait: a waiter that finds the latch open is done, and leaves nothing behind.
type gate struct {
	name, key, channel string
	store              redisclient.Store
}

// requests is the key that remembers requests.
func (g *gate) requests() string { return keys.Own("request", g.key) }

func (g *gate) Name() string    { return g.name }
func (g *gate) Key() string     { return g.key }
func (g *gate) Mode() string    { return "latch" }
func (g *gate) Channel() string { return g.channel }

func (g *gate) Traits() *store.Traits { return &traits }

var traits = store.Traits{
	Layout: store.Latch, Kind: string(lock.KindLatch), Noun: "latch", Busy: counting{},
}

// counting is what a wait is told that ends before the latch is open.
type counting struct{}

func (counting) Error() string { return "holdfast: the latch is still counting down" }
func (counting) Unwrap() error { return lock.ErrBusy }

// Excludes is false: nothing on this side blocks a wait.
func (g *gate) Excludes(string) bool { return false }

// Follows is true, so that one waiter asks for all.
func (g *gate) Follows(string) bool { return true }

// Inherits is false: a wait holds nothing that could be passed on.
func (g *gate) Inherits(string) bool { return false }

func (g *gate) Acquire(ctx context.Context, conn luacall.Conn, _ *redisstore.Ask) (luacall.AcquireReply, error) {
	return luacall.LatchWait(g.key).Run(ctx, conn)
}

// Release undoes nothing: asking changes nothing.
func (g *gate) Release(string, bool, bool) *luacall.Call[luacall.ReleaseReply] {
	return luacall.Func(func(context.Context) (luacall.ReleaseReply, error) {
		return luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: store.Gone}}, nil
	})
}

// errVerb is never seen: a latch has no other changes.
var errVerb = errors.New("latch: there is no such change")

// Change starts, counts or ends a count, or looks at it.
func (g *gate) Change(
	ctx context.Context, conn luacall.Conn, what store.Change, ask *redisstore.Ask,
) (luacall.CountReply, error) {
	at := luacall.Latch{Count: g.key, Channel: g.channel, Sharded: g.store.Sharded()}
	r := ask.Remembered(g.requests())
	switch what.Verb {
	case store.Look:
		return luacall.CountLook(g.key).Run(ctx, conn)
	case store.Set:
		if what.Life > 0 {
			return luacall.LatchSetFor(at, what.N, what.Life.Milliseconds(), r).Run(ctx, conn)
		}
		return luacall.LatchSet(at, what.N, r).Run(ctx, conn)
	case store.Down:
		return luacall.LatchDown(at, r).Run(ctx, conn)
	case store.Delete:
		return luacall.LatchDelete(at, r).Run(ctx, conn)
	default:
		return luacall.CountReply{}, &store.Refused{Err: errVerb}
	}
}
