package engine

import (
	"cmp"
	"context"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// reenter adds one level to a Hold that ctx carries. The grant keeps its lease, whatever the request says of one, and
// nothing is sent (see package hold).
func (g *Grant) reenter(ctx context.Context, from *hold.Level, req Request) (*hold.Level, error) {
	if err := g.enterable(from, req); err != nil {
		return nil, err
	}
	l := from.Hold().Nest(ctx, from, req.MaxHold, g.proto.Traits().Counts)
	if l == nil { // it ended since
		return nil, cmp.Or(g.standing(from), g.notHeld())
	}
	g.retainFor(req.MinHold)
	return l, nil
}

// enterable reports why a request cannot enter a level that ctx carries. A loss counts first, since the caller is to
// learn of it.
func (g *Grant) enterable(from *hold.Level, req Request) error {
	if err := g.standing(from); err != nil {
		return err
	}
	if req.Reentry == Refused {
		return g.engine().cfg.Errors.Reentry(g.proto, from.Place())
	}
	return nil
}

// standing reports why a level that ctx carries cannot be entered again. It is asked first by everything that is done
// inside a Hold. A process that stood still for longer than the lease may come here before its wheel has ended the
// contexts; so validity is compared with the clock, and a grant that is over is ended here and now.
func (g *Grant) standing(from *hold.Level) error {
	g.expireIfOver()
	err := from.Standing()
	if err == g.engine().cfg.Errors.Released {
		return g.notHeld()
	}
	return err
}

// holding is the innermost open level that ctx carries of a lock, with its grant, if it is not lost.
func (e *Engine) holding(ctx context.Context, p store.Protocol) (*hold.Level, *Grant, error) {
	l := e.carried(ctx, p)
	if l == nil {
		return nil, nil, e.notHeld(p)
	}
	g := grantOf(l.Hold())
	return l, g, g.standing(l)
}

// overCause is why a Hold ended.
func overCause(h *hold.Hold) error {
	if err := h.Err(); err != nil {
		return err
	}
	return grantOf(h).notHeld()
}
