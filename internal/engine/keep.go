package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// keepFor lets the release keep the lock for a time from now.
//
// A request with a MinHold has the lock kept in the store for that long, though its owner is done with it earlier: a
// job that takes a second must not run again on a machine whose clock is two seconds behind. Its unlock ends the
// contexts as ever; then the release gives the lock an id that is nobody's, and a lease that is what is left.
//
// The end is an instant of the server's clock, and not a duration. So a release that is sent again, comes late, or is
// left to the ledger keeps the lock no longer; when the time is over, the release frees it. What counts is when the
// server granted the hold, and that was not after the latest time that its clock may have shown when the answer had
// come. The lock is kept for a round trip longer than it need be, at most.
//
// A hold that nobody ever got to see is released at once: the job did not run.
func (g *Grant) keepFor(d time.Duration) {
	if d > 0 {
		g.KeepUntil(g.engine().store.Instant(g.proto.Key(), d))
	}
}

// parting is the protocol by which the grant is released, by an unlock, by Close or by the ledger.
func (g *Grant) parting() store.Protocol {
	p := g.proto
	if served := g.Served(); len(served) > 0 {
		p = p.Serving(served)
	}
	if until := g.KeptUntil(); until > 0 {
		return p.Keeping(until, g.engine().newID())
	}
	return p
}
