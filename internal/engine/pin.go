package engine

import (
	"cmp"
	"context"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Pin lets a transaction of the user rely on the hold that ctx carries. Check asks the store, within that transaction,
// whether the grant stands under its id, and keeps others from taking the lock until the transaction is over. If it
// does not stand, the hold is lost.
//
// The grant does not pass to another caller of this process afterwards: one that unlocks before its transaction is over
// would otherwise commit in the turn of the next, which has the same id in the store. It is marked before the store is
// asked: an unlock that comes in between finds the mark, and one that came before has ended the Hold.
//
// If the Hold ended while the store was asked, its end is the error: it may be what ended the request.
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
	if !l.Hold().MarkSingle() {
		return cmp.Or(g.standing(l), g.notHeld())
	}
	stands, err := check(g.id)
	if stands {
		return nil
	}
	if err == nil {
		g.lose(hold.Gone, nil)
		err = g.notHeld()
	}
	return cmp.Or(g.standing(l), err)
}
