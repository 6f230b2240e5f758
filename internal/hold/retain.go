package hold

import "time"

// Retention is until when the release retains the lock, in server time in µs, and for how long at most: the server's
// clock may have been set back since. The zero Retention frees it.
type Retention struct {
	Until int64
	Most  time.Duration
}

// Retain has the release retain the lock; with several the latest end counts, whichever level brought them.
//
// A lock may have to stay taken in the store for some time after it was acquired, though its owner is done with it
// earlier (MinHold). What is retained is the lock and not the grant: no context says that it is held, and no other
// caller of this process has it. So all that the grant has of it is the instant.
func (g *Grant) Retain(r Retention) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.RetainLocked(r)
}

// RetainLocked is Retain for a caller that has the mutex.
func (g *Grant) RetainLocked(r Retention) {
	g.single = true
	was := &g.onReleaseLocked().retain
	was.Until, was.Most = max(was.Until, r.Until), max(was.Most, r.Most)
}

// Retained is how the release retains the lock.
func (g *Grant) Retained() Retention {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.onRelease == nil {
		return Retention{}
	}
	return g.onRelease.retain
}
