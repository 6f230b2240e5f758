package hold

import (
	"context"
	"time"
)

// A nested Lock that asks for more than its hold has waits for a step: Push, then the request, then Stepped, and at
// last Settle or Withdraw.
//
// The level counts from Push on, though its Lock has not returned. Otherwise an unlock of the outer level, in another
// goroutine, could release the hold while the request is under way that makes its lease longer, and the nested Lock
// would return a context of a hold that is gone. If the request fails the level is withdrawn, and if the outer level
// was unlocked meanwhile, nobody but the one who withdraws is left to release.

// Push adds a level whose Lock call is under way, and returns the step that tells Redis. It returns neither if the
// hold is not live, or the level that the caller's context carries has ended, which err says.
func (h *Hold) Push(from *Level, want Want) (l *Level, start time.Duration, step Step, err error) {
	start = h.host.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return nil, start, Step{}, nil
	}
	if err := from.errLocked(); err != nil {
		return nil, start, Step{}, err
	}
	l = h.newLevel(from.reader, start, want, from.Owner())
	l.pending = true
	h.pushLocked(l)
	return l, start, h.stepLocked(start), nil
}

// Withdraw takes back a level that did not come to be. It reports alone if the others were unlocked meanwhile, so that
// nobody else is left to release the hold, and otherwise done, as Part does.
func (h *Hold) Withdraw(l *Level) (alone, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.closeLocked()
	h.followLocked()
	alone = h.state == live && h.longestLocked(h.host.Clock.Now()) == 0
	done = l.doneLocked()
	return alone, done && !alone
}

// Settled is what Settle did.
type Settled struct {
	Open  bool  // the level is open; otherwise it is out
	Cause error // what it ended with before it was opened; nil if somebody is releasing the hold
	Done  bool  // as with Part
}

// Settle opens a level whose step Redis has carried out, which was first sent at start. Validity counts from there and
// not from the answer, as for an acquisition. If an inner unlock was numbered after this step, Redis may have set the
// lease back since; then validity is not raised, and the hold is renewed at once instead. The level is opened only if
// the hold still lives and, if the level belongs to a reader, that one has not ended meanwhile.
func (l *Level) Settle(ctx context.Context, start time.Duration, step Step, maxHold time.Duration) (s Settled) {
	h := l.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		l.closeLocked()
		return Settled{Cause: h.cause}
	}
	if err := l.errLocked(); err != nil { // others have the hold
		l.closeLocked()
		h.followLocked()
		s.Cause = err
		s.Done = l.doneLocked()
		return s
	}
	l.openLocked(ctx)
	confirmed := h.confirmLocked(step.Op, start, step.TTL)
	switch {
	case l.kept && confirmed:
		h.host.Watchdog.Keep(&h.Lease, start, l.lease)
	case l.kept:
		h.host.Watchdog.Keep(&h.Lease, start, 0) // which has it renewed at once
	}
	l.scheduleLocked(start)
	h.limitLocked(l.reader, l, maxHold)
	return Settled{Open: true}
}
