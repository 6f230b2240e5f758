package hold

import "time"

// How is a way in which a hold ends. See the table in the package's documentation.
type How uint8

const (
	Unlocked  How = iota // its owner is done with it, and the caller passes it on or releases it
	FoundLost            // its owner is done with it, and it turned out to have been lost before
	Lost                 // it was lost while somebody had it
	Closed               // its client is closed
)

// ways says from which state each way leads to over, and whether the hold was lost.
var ways = [...]struct {
	from state
	lost bool
}{
	Unlocked:  {from: ending},
	FoundLost: {from: ending, lost: true},
	Lost:      {from: live, lost: true},
	Closed:    {from: live},
}

// Ended is what is left to do for a hold that End made be over.
type Ended struct {
	Cause  error    // what its contexts end with
	Losers int      // how many are to be told of a loss
	Owners []*Owner // whose hold it was, unless they are done with it
	levels []*Level
}

// Contexts ends the contexts of all levels that the hold had. To end a context means to end all that were made from
// it; so this can take long, and is not called while anybody waits.
func (d Ended) Contexts() {
	for _, l := range d.levels {
		l.End(d.Cause)
	}
}

// End makes the hold be over with a cause, in one of the ways. Its levels stay, because each is still to be unlocked:
// the last of them tells the observer that a lost hold was let go. By is the level with whose unlock it was found lost.
// It reports false if the hold is not in the state from which that way leads: somebody else has ended it.
//
// Several often try at once: the wheel finds that validity is over, a renewal is answered "not there", and the owner
// unlocks. Each comes here, or to Part, and the mutex puts them in an order. If the unlock is first, the hold is
// ending, which Lost does not lead from; the owner's goroutine then looks at the validity once more and either
// releases or says FoundLost. If the loss is first, Part says Over, and the owner learns of the loss from its
// unlock.
func (h *Hold) End(how How, by *Level, cause error) (Ended, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	way := ways[how]
	if h.state != way.from {
		return Ended{}, false
	}
	d := Ended{Cause: cause, levels: h.endLocked(cause)}
	if way.from == live {
		d.Owners = h.ownersLocked()
	}
	switch {
	case how == FoundLost:
		h.lost, d.Losers = len(d.levels) > 0, 1
	case way.lost:
		h.lost, d.Losers = true, losersLocked(d.levels, cause)
	}
	return d, true
}

// endLocked makes the hold be over and returns the levels whose contexts are to end: all that have one. A level that
// is joining has none yet; Open finds the hold over, and the level is withdrawn. A timer that fires while it is
// cancelled here finds the hold over under the mutex, and does nothing.
func (h *Hold) endLocked(cause error) []*Level {
	h.state, h.cause = over, cause
	h.limit.cancel()
	if h.steps != nil {
		h.host.Wheel.Cancel(&h.steps.timer)
	}
	levels := make([]*Level, 0, h.depth)
	for l := h.top; l != nil; l = l.below {
		if !l.pending {
			levels = append(levels, l)
		}
		if l.reader != nil {
			l.reader.limit.cancel()
		}
	}
	return levels
}

// Claim makes the caller the one who ends the hold, as the unlock of a last level would: for a hold that no caller ever
// got to see, or whose last level was withdrawn. The watchdog may lose the hold up to that moment and not
// after; it reports false if somebody else does or did.
func (h *Hold) Claim() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return false
	}
	h.state = ending
	return true
}

// Export takes a level out of the hold, whose owner gives it to another process. It reports alone if that was the only
// one: the hold is over then. Otherwise others share the hold, and the level is
// one under way until it parts: it has no context and is not entered again, but the hold is not released without
// it. That matters because the others may all leave while Redis makes the grant for the importer beside this one.
// It reports false if the level's Lock call has other levels, or the hold is not live.
func (h *Hold) Export(l *Level) (alone, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live || l.countLocked() != 1 || !l.open {
		return false, false
	}
	if h.depth > 1 {
		l.open, l.pending = false, true
		return false, true
	}
	l.closeLocked()
	l.doneLocked()
	h.endLocked(h.host.Released)
	return true, true
}

// Seen is what is known here of a level's hold.
func (l *Level) Seen() (count int, until time.Duration) {
	h := l.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	until = h.Lease.ValidUntil()
	if limited := (*h.limitOf(l.reader)).until(); limited > 0 {
		until = min(until, limited)
	}
	return int(l.countLocked()), until
}
