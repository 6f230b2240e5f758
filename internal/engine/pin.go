package engine

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Pin lets a transaction of the user rely on the hold that ctx carries. Check asks the store, within that transaction,
// whether the grant stands under its id, and keeps others from taking the lock until the transaction is over. If it
// does not stand, the hold is lost.
//
// The grant does not pass to another caller of this process afterwards: one that unlocks before its transaction is over
// would otherwise commit in the turn of the next, which has the same id in the store.
func (e *Engine) Pin(
	ctx context.Context, p store.Protocol, check func(id string) (stands bool, err error),
) error {
	if !e.sender.Begin() {
		return e.refuse(p)
	}
	defer e.sender.Done()
	l, g, err := e.holding(ctx, p)
	if err != nil {
		return err
	}
	h := l.Hold()
	if !h.MarkSingle() {
		return overCause(h)
	}
	stands, err := check(g.id)
	if err == nil && !stands {
		g.lose(hold.Gone, nil)
		return overCause(h)
	}
	return err
}
