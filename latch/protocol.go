package latch

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
)

// gate is the protocol of a wait: whoever finds the latch open has what it waited for, and leaves
// nothing behind.
type gate struct {
	name, key, channel string
}

func (g *gate) Name() string    { return g.name }
func (g *gate) Key() string     { return g.key }
func (g *gate) Mode() string    { return "latch" }
func (g *gate) Channel() string { return g.channel }

func (g *gate) Traits() *store.Traits { return &traits }

var traits store.Traits

// Excludes is false: nobody is in the way of a wait.
func (g *gate) Excludes(string) bool { return false }

// Follows is true, so that one asks for all.
func (g *gate) Follows(string) bool { return true }

// Inherits is false: there is nothing to hand on.
func (g *gate) Inherits(string) bool { return false }

func (g *gate) Acquire(ctx context.Context, conn lua.Conn, _ store.Ask) (lua.AcquireReply, error) {
	return lua.LatchWait(g.key).Run(ctx, conn)
}

// Release has nothing to undo: to look changes nothing.
func (g *gate) Release(string, bool, bool) *lua.Call[lua.ReleaseReply] {
	return lua.Func(func(context.Context) (lua.ReleaseReply, error) {
		return lua.ReleaseReply{Status: lua.Gone}, nil
	})
}
