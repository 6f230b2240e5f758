package engine

import "github.com/holdfast-go/holdfast/internal/hold"

// What is here is for a test kit, which makes losses and has to know when an engine has done what is due.

// Lose has the holds of a name be lost for a reason, of those that callers have, and returns their keys. With Gone they
// must be gone from the store, and with Expired their validity is over at once, so that the store is told of their end.
func (e *Engine) Lose(name string, reason hold.Reason) (keys []string) {
	for _, h := range e.table.all() {
		if h.proto.Name() != name || !h.IsHad() {
			continue
		}
		keys = append(keys, h.proto.Key())
		if reason == hold.Expired {
			e.watchdog.Shorten(&h.Lease, e.clock.Now())
		}
		h.lose(reason, nil)
	}
	return keys
}

// Ending reports that a hold is over whose contexts may not have ended yet: a lost hold leaves the table after that.
//
// It is asked after the clock was put forward and the wheel has turned. Whoever found the hold lost has made it be over
// by then, but may still be ending its contexts, since the wheel does not wait for that. Until it has, no other client
// may be granted the lock.
func (e *Engine) Ending() bool {
	for _, h := range e.table.all() {
		if h.Over() {
			return true
		}
	}
	return false
}

// Renewing reports that the renewal of a hold is due or under way.
func (e *Engine) Renewing() bool {
	for _, h := range e.table.all() {
		if e.watchdog.Renewing(&h.Lease) {
			return true
		}
	}
	return false
}
