package hold

import "time"

// How is a way in which a grant ends. See the table in the package's documentation.
type How uint8

const (
	Released How = iota // its last Hold was unlocked, and the caller releases it
	Lost                // it was lost
	Closed              // its client is closed
)

// Ended is what is left to do for a grant that End made be over, or for a Hold that was found lost as it was unlocked.
type Ended struct {
	Cause  error    // what the contexts end with
	Losers int      // how many are to be told of a loss
	Owners []*Owner // whose Hold it was
	levels []*Level
}

// Contexts ends the contexts of all levels. To end a context means to end all that were made from it; so this can take
// long, and is not called while anybody waits.
func (d Ended) Contexts() {
	for _, l := range d.levels {
		l.End(d.Cause)
	}
}

// End makes the grant be over, in one of the ways; the Holds that live on it end with a cause. Their levels stay,
// because each is still to be unlocked. It reports false if another caller has ended it, or is about to: a grant that
// is between two Holds is not closed, and one that stands is not released. A loss
// between two Holds, or of an idle grant, is told to nobody: the last one was held to its end.
//
// Several often try at once: the wheel finds that validity is over, a renewal is answered "not there", and the owner
// unlocks. Each comes here, or to Part, and the mutex puts them in an order. If the unlock is first, it looks at the
// validity itself, and either finds the Hold lost or ends it; a loss that comes then marks the grant, which is neither
// passed on nor released any more. If the loss is first, Part says Over, and the owner learns of the loss from its
// unlock.
func (g *Grant) End(how How, cause error) (d Ended, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch from := g.state; {
	case from == over, from == between && how == Closed, from == stands && how == Released:
		return Ended{}, false
	case from == between, from == idle:
		g.overLocked()
		return Ended{Cause: cause}, true
	}
	return g.endLocked(cause), true
}

// UnusedLocked ends an idle grant. It reports false, and the grant stays as it is, if a caller has it, or it is over.
func (g *Grant) UnusedLocked() bool {
	if g.state != idle {
		return false
	}
	g.overLocked()
	return true
}

// endLocked ends the grant and the Holds that live on it. A level that is joining has no context yet; Open finds its
// Hold over, and the level is withdrawn. A Hold whose caller has not come yet is told of as well.
func (g *Grant) endLocked(cause error) Ended {
	d := Ended{Cause: cause}
	for h := g.holds; h != nil; h = h.next {
		if h.err == nil {
			h.err = cause
			d.Losers++
		}
		h.limit.cancel()
		d.levels, d.Owners = h.contextsLocked(d.levels), h.ownersLocked(d.Owners)
	}
	d.Losers = max(d.Losers, 1) // one whose limit was exceeded has ended before
	g.overLocked()
	return d
}

// overLocked makes the grant be over. A timer that fires while it is cancelled here finds that under the mutex, and
// does nothing.
func (g *Grant) overLocked() {
	g.state = over
	if g.steps != nil {
		g.host.Wheel.Cancel(&g.steps.timer)
	}
}

// contextsLocked appends the levels that have a context.
func (h *Hold) contextsLocked(levels []*Level) []*Level {
	for l := h.top; l != nil; l = l.below {
		if l.state != underWay {
			levels = append(levels, l)
		}
	}
	return levels
}

// betweenLocked ends the last Hold of a grant, which is the caller's to pass on or to release.
func (g *Grant) betweenLocked() {
	for h := g.holds; h != nil; h = h.next {
		h.err = g.host.Released
		h.limit.cancel()
	}
	g.state, g.holds = between, nil
}

// Claim ends the last Hold of a grant as the unlock of its last level would: a Hold that no caller ever got to see, or
// whose last level was withdrawn. It reports false if somebody else has ended it, or has it.
func (g *Grant) Claim() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != stands || g.neededLocked() {
		return false
	}
	g.betweenLocked()
	return true
}

// Export takes a level out of its Hold, whose owner gives it to another process. It reports alone if nobody else has
// the grant, which is over then. Otherwise the level is one under way until it parts: it has no context and is not
// entered again, but the grant is not released without it. That matters because the others may all leave while the
// store makes the grant for the importer beside this one. It reports false if the Hold has other levels, or is over.
func (h *Hold) Export(l *Level) (alone, ok bool) {
	g := h.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.err != nil || h.depth != 1 || l.state != open {
		return false, false
	}
	if g.levelsLocked() > 1 {
		l.state = underWay
		return false, true
	}
	l.closeLocked()
	g.endLocked(g.host.Released)
	return true, true
}

// Seen is how many levels the Hold has, and until when it lasts if nothing prolongs it.
func (h *Hold) Seen() (count int, until time.Duration) {
	h.grant.mu.Lock()
	defer h.grant.mu.Unlock()
	until = h.grant.Lease.ValidUntil()
	if limited := h.limit.until(); limited > 0 {
		until = min(until, limited)
	}
	return int(h.depth), until
}
