package engine

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/hold"
)

// outer is a hold that another side of its lock is asked for inside. The zero outer is none.
type outer struct {
	id    string
	fence int64
}

// underOther looks for holds of other sides of the lock that ctx carries. A read inside a write passes the queue:
// it would otherwise wait for the caller's own hold. A write inside a read is refused, because two callers that do
// it would wait for one another for ever. The outer hold is marked before the request is sent (MarkSingle), so it
// cannot be passed in memory to another caller, beside whom the inner one would then stand.
func (e *Engine) underOther(ctx context.Context, req Request) (under outer, err error) {
	p := req.Proto
	side := p.Traits().Under
	if side == nil {
		return outer{}, nil
	}
	sides := hold.Levels(ctx, func(g *hold.Grant) bool { return e.isSide(leased(&g.Lease), p) })
	for l := range sides {
		h := l.Hold()
		g := grantOf(h)
		if err := g.enterable(l, req); err != nil {
			return outer{}, err
		}
		pass, err := side(p.Name(), g.proto.Mode())
		switch {
		case pass && h.MarkSingle():
			return outer{g.id, h.Fence}, nil
		case pass:
			return outer{}, g.notHeld()
		case err != nil:
			return outer{}, err
		}
	}
	return outer{}, nil
}

// withinLocked gives a hold that stands inside another the outer one's token, though the outer one may be over by now.
// What the store told is the end of the range that the outer one reserved, of which it may have a lower number.
//
// For example, a writer's turn has token 1,005 of a range that ends at 1,999. It reads inside its hold, and the
// answer to that request names 1,999, the newest that the store knows. Had the read that token, storage that it writes
// to would refuse the writer's own next write with 1,005, and those of the writers whose turns follow.
//
// The store says whether it stands there. Where the outer hold was over before the store came to the request, others
// may have written meanwhile, whose tokens are above that of the outer one: the hold has the newest then.
func (g *Grant) withinLocked(h *hold.Hold, o outer) { g.fence, h.Fence = o.fence, o.fence }
