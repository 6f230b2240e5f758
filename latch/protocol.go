package latch

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
)

// gate is the protocol of a wait: a waiter that finds the latch open is done, and leaves nothing behind.
type gate struct {
	name, key, channel string
}

func (g *gate) Name() string    { return g.name }
func (g *gate) Key() string     { return g.key }
func (g *gate) Mode() string    { return "latch" }
func (g *gate) Channel() string { return g.channel }

func (g *gate) Traits() *store.Traits { return &traits }

var traits store.Traits

// Excludes is false: nothing on this side blocks a wait.
func (g *gate) Excludes(string) bool { return false }

// Follows is true, so that one waiter asks for all.
func (g *gate) Follows(string) bool { return true }

// Inherits is false: a wait holds nothing that could be passed on.
func (g *gate) Inherits(string) bool { return false }

func (g *gate) Acquire(ctx context.Context, conn lua.Conn, _ store.Ask) (lua.AcquireReply, error) {
	return lua.LatchWait(g.key).Run(ctx, conn)
}

// Release undoes nothing: asking changes nothing.
func (g *gate) Release(string, bool, bool) *lua.Call[lua.ReleaseReply] {
	return lua.Func(func(context.Context) (lua.ReleaseReply, error) {
		return lua.ReleaseReply{Status: lua.Gone}, nil
	})
}
