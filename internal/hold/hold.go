package hold

import (
	"sync/atomic"
	"time"
)

// Hold is one Lock call that holds: its contexts, its token, its limit. Levels are the Lock calls nested in it, the
// outermost included. It is guarded by the mutex of its grant's key.
type Hold struct {
	Fence  int64       // constant once others know of the grant
	Warned atomic.Bool // that somebody waits for it in this process was logged

	grant *Grant        // constant; nil: nothing is held (see package engine)
	start time.Duration // when the call that granted it was first sent, or it was passed on, or joined; constant
	next  *Hold         // another one that lives on the grant
	depth int32         // levels, those under way included
	top   *Level
	limit *limit
	err   error // what it ended with; nil while it lives
}

// Grant is what the Hold lives on.
func (h *Hold) Grant() *Grant { return h.grant }

// Start is when the Lock call came to the Hold: when the call that granted it was first sent, or when it was passed on
// or joined.
func (h *Hold) Start() time.Duration { return h.start }

// Live reports that the Hold has not ended.
func (h *Hold) Live() bool { return h.Err() == nil }

// Err is what the Hold ended with, and its contexts end with; nil while it lives.
func (h *Hold) Err() error {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	return h.err
}

// Nested reports that the grant has more than one level.
func (h *Hold) Nested() bool {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	return h.grant.levelsLocked() > 1
}

// MarkSingle keeps the grant from passing on after the Hold, which must be live: what was asked for in its name may
// stand beside it, or be carried out, under the grant's id, when that would be another caller's. It is so where another
// side of the lock is asked for inside the Hold, and where a transaction of the user relies on the id. Whether the Hold
// was unlocked before is decided under the mutex under which PassToLocked decides.
func (h *Hold) MarkSingle() bool {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	if h.err != nil {
		return false
	}
	h.grant.single = true
	return true
}
