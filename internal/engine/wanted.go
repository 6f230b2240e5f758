package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// wanted is told by the store that another client waits for a lock of which this one has, or is about to have, the
// grant with an id.
//
// Nothing bounds how often. A try that is refused waits for the recall, and others of its process are refused here
// meanwhile; so eight processes that do nothing but try one held lock have the store say so 3,600 times a second, which
// takes 8 % of a core here, and the store has half of the work that the same loops make on a lock that is not kept.
func (e *Engine) wanted(key, id string) {
	k := e.table.peek(key)
	if k == nil {
		return
	}
	g := k.wantedLocked(id)
	k.mu.Unlock()
	if g != nil {
		e.sender.Spawn(g.letGo) // refused when Close is at work, which ends it
	}
}

// wantedLocked notes that another client waits for what has an id, and returns that grant if it is idle. What is no
// grant yet may be a request under way, whose waiter then notes it.
func (k *Key) wantedLocked(id string) (idle *Grant) {
	for g := range k.grantsLocked() {
		if g.id != id || g.kept == nil {
			continue
		}
		g.kept.wanted = true
		if g.IsIdleLocked() {
			return g
		}
		g.kept.signal()
		return nil
	}
	for w := range k.waitersLocked() {
		if w.ID == id {
			waiterOf(w).wanted = true
		}
	}
	return nil
}

// wantedHereLocked lets holders learn that another caller of their own process waits.
func (k *Key) wantedHereLocked() {
	for g := range k.grantsLocked() {
		if g.kept != nil {
			g.kept.signal()
		}
	}
}

// signal closes the channel of the present Hold, if it has one.
func (k *kept) signal() {
	if k.channel == nil {
		return
	}
	select {
	case <-k.channel:
	default:
		close(k.channel)
	}
}

// wantedByLocked is the end of a run of a grant that may have been kept. If others want the lock, it is not kept for a
// while, and a client that said so is owed a turn.
func (k *Key) wantedByLocked(g *Grant, ends runEnd) runEnd {
	if g.kept.wanted {
		ends = ends.wanted()
	}
	if ends.receivers > 0 && ends.others > 0 {
		k.table.engine.keeper.backOff(k.name, k.table.engine.clock.Now())
	}
	return ends
}

// Wanted is closed when another caller, of this process or of another one, waits for the lock that ctx holds. A client
// that finds the id of the hold in its way says so with each of its requests, of which each may be lost. Others say
// nothing. It is nil if the call that began the hold did not ask for that.
func (e *Engine) Wanted(ctx context.Context, p store.Protocol) (<-chan struct{}, error) {
	l := e.carried(ctx, p)
	if l == nil {
		return nil, &callError{kind: e.cfg.Errors.NotHeld, of: p}
	}
	g := grantOf(l.Hold())
	if err := g.standing(l); err != nil {
		return nil, err
	}
	k := g.key
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.kept == nil {
		return nil, nil
	}
	if g.kept.channel == nil {
		g.kept.channel = make(chan struct{})
	}
	if g.kept.wanted || k.queue != nil && !k.queue.Empty() {
		g.kept.signal()
	}
	return g.kept.channel, nil
}

// recallTime is how long another client needs to release an idle grant after a request was refused that took trip: the
// store's message to it, and its release, take one way each, and both processes have to come to it.
func recallTime(trip time.Duration) time.Duration {
	return min(2*trip, 250*time.Millisecond) + 2*time.Millisecond
}
