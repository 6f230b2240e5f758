package semaphore

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/lua"
)

var errUnsupported = errors.New("semaphore: permits have no levels and do not move")

// holdless is the part of a protocol that permits have no use for: they are not entered again, and
// pass from one holder to the next by being free in between.
type holdless struct{}

// Excludes is false: only Redis knows how many are free.
func (holdless) Excludes(string) bool { return false }

// Crowds says that any number ask at a time, as long as Redis refuses nobody.
func (holdless) Crowds() {}

// Follows is true: whoever was refused first goes first, so that small requests do not starve a large one.
func (holdless) Follows(string) bool { return true }

// Inherits is false: the next may need fewer or more.
func (holdless) Inherits(string) bool { return false }

func (holdless) Handoff(
	context.Context, lua.Conn, string, engine.Ask,
) (lua.HandoffReply, error) {
	return lua.HandoffReply{}, &engine.Refused{Err: errUnsupported}
}

func (holdless) Adopt(context.Context, lua.Conn, string, engine.Ask) (lua.AdoptReply, error) {
	return lua.AdoptReply{}, &engine.Refused{Err: errUnsupported}
}

func (holdless) Reenter(context.Context, lua.Conn, engine.Step) (lua.StepReply, error) {
	return lua.StepReply{}, &engine.Refused{Err: errUnsupported}
}

func (holdless) Leave(context.Context, lua.Conn, engine.Step) (lua.StepReply, error) {
	return lua.StepReply{}, &engine.Refused{Err: errUnsupported}
}
