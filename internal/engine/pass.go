package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
)

// passOn keeps a grant whose last Hold is over since an instant for the next caller, gives it to the next waiter of
// this process, or releases it in the store.
//
// A grant that is passed costs no request. What the store knows stays what it is, id and lease, and the next caller has
// it by memory alone: by a Hold and a context of its own, and with the next of the fencing tokens that the acquisition
// reserved. The contexts of the Hold before have ended by then, so that no two contexts say that it is held.
func (e *Engine) passOn(g *Grant, last *hold.Hold, at time.Duration) error {
	end := at + e.cfg.ReleaseTimeout
	if e.sender.Closed() {
		return e.releaseIn(g, last, end, false, true)
	}
	if !g.key.rest(g, at) {
		if next, runOver := g.key.pass(g); next == nil {
			return e.releaseIn(g, last, end, runOver, true)
		}
	}
	if e.sender.Closed() {
		g.disown() // Close may have looked at this grant when it was between two Holds
	}
	return nil
}

// pass begins a Hold of g for the waiter that is next, if that one can have the grant as it is. Who that is, whether it
// can, and that it has it are one step: the waiter leaves before, and another one is next, or it leaves after, with a
// Hold that it lets go. RunOver reports that other processes have their turn first: the run has
// been long enough, memory is not enough, or nobody of this process waits for what others cannot have meanwhile.
func (k *Key) pass(g *Grant) (next *hold.Hold, runOver bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.suspect || !k.listsLocked(g) {
		return nil, false
	}
	if k.queue == nil || k.queue.Empty() {
		return nil, g.portion != nil || g.proto.Excludes(g.proto.Mode())
	}
	now := k.table.engine.clock.Now()
	to, runOver := k.queue.Next(g.proto.Mode(), g.portion, now)
	if to == nil {
		return nil, runOver
	}
	w := waiterOf(to)
	if next = g.successorLocked(w, now); next == nil {
		return nil, g.portion == nil
	}
	k.queue.Grant(to, g.portion, now)
	w.hold = next
	return next, false
}

// successorLocked is g's next Hold, for a waiter to which the store would grant the same. It is nil if no token is
// left, of those that have any, or if the store has to be asked (see [hold.Grant.PassToLocked]).
func (g *Grant) successorLocked(w *waiter, now time.Duration) *hold.Hold {
	fence := g.fence + 1
	if g.portion != nil {
		fence = g.fence
	} else if g.spare == 0 {
		return nil
	}
	if !w.req.Proto.Traits().Passes {
		return nil
	}
	place := ""
	if w.Registers() {
		place = w.ID
	}
	next := g.PassToLocked(w.req.want(), now, fence, place)
	if next == nil {
		return nil
	}
	if g.portion == nil {
		g.fence, g.spare = fence, g.spare-1
	}
	if g.kept != nil {
		g.kept.channel = nil // that was the last Hold's
	}
	if len(g.ServedLocked()) == 1 && place != "" {
		g.watchTurns(next)
	}
	return next
}

// hasHeir reports that a waiter of this process could be given g.
func (k *Key) hasHeir(g *Grant) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queue != nil && k.queue.Heir(g.proto.Mode()) != nil
}

// lendLocked sets spare tokens apart. What the store just granted has the newest token; where others of this process
// wait behind its waiter, or may soon, its first Hold takes the lowest of the spare ones instead, and the rest are for
// them.
func (g *Grant) lendLocked(h *hold.Hold, spare int64) {
	g.fence, g.spare = g.fence-spare, int16(spare)
	h.Fence = g.fence
}
