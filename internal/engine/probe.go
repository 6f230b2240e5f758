package engine

import "github.com/holdfast-go/holdfast/internal/hold"

// Lose makes the holds of a name that have owners end as lost, for a reason, and returns their keys. For the reason
// Gone the caller must have removed them from the store. For Expired their validity ends at once, and the engine
// releases them in the store.
func (e *Engine) Lose(name string, reason hold.Reason) (keys []string) {
	for _, g := range e.table.all() {
		if g.proto.Name() != name || !g.Owned() {
			continue
		}
		keys = append(keys, g.proto.Key())
		if reason == hold.Expired {
			e.watchdog.Guard(&g.Lease, e.clock.Now())
		}
		g.lose(reason, nil)
	}
	return keys
}

// Ending reports that a hold has ended whose contexts may not have ended yet: a lost hold leaves the table after them.
//
// A test kit asks after it has put the clock forward and the wheel has turned. The hold is over by then, but the ender
// may still be ending the contexts, since the wheel does not wait for that. Until then no other client must be granted
// the lock.
func (e *Engine) Ending() bool {
	for _, g := range e.table.all() {
		if g.Over() {
			return true
		}
	}
	return false
}

// Renewing reports whether the renewal of any hold is due or under way.
func (e *Engine) Renewing() bool {
	for _, g := range e.table.all() {
		if e.watchdog.Renewing(&g.Lease) {
			return true
		}
	}
	return false
}
