package engine

import "time"

// messageLag is how much later than the answer to a request a message may come that the store sent before it, besides
// a round trip.
const messageLag = 20 * time.Millisecond

// heard is told of a message on the channel of a key.
//
// An exclusive holder hears of no release: nobody else has anything to release, and this process publishes
// its own when it has ceased to hold. A message that comes all the same says that somebody else held the lock, or
// broke it. It costs little to be sure: the hold is renewed at once, which tells its owner if it is gone, and it is
// not passed on to others of this process before the store was asked. It is not proof: anybody may publish.
//
// For example, an operator deletes the key of a lock that A holds, and B, which was waiting, takes it and releases it.
// A's next renewal may be ten seconds away. But if others of A's process wait, it listens on the channel, and hears B's
// release: nobody but A had anything to release. So A is renewed now, is told "not there", and its context ends
// within a round trip and not after a third of a lease.
//
// Nothing is sent and nobody listens for that. It is heard while the process is subscribed because others of it
// waited, as most are to whom a hold could be passed on.
func (e *Engine) heard(key string) {
	if g := e.table.suspect(key); g != nil {
		e.watchdog.Hurry(&g.Lease)
	}
}

// suspect notes that the grant of a key may be gone. It returns the grant, if that was not known.
//
// Messages come by another connection than answers. So one that comes soon after the lock was granted is that of
// the release before.
func (t *table) suspect(key string) *Grant {
	k := t.peek(key)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	if k.grant == nil || k.grant.suspect {
		return nil
	}
	g, lag := k.grant, messageLag
	if k.queue != nil {
		lag += k.queue.Trip()
	}
	if !g.proto.Traits().Passes || !g.proto.Excludes(g.proto.Mode()) || t.engine.clock.Now()-g.since < lag {
		return nil
	}
	g.suspect = true
	return g
}
