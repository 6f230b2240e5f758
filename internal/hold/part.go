package hold

import "time"

// Outcome says what an unlock did.
type Outcome uint8

// The outcomes of Part.
const (
	NotHeld   Outcome = iota // it was unlocked before
	Refused                  // the client is closed; Close ends the grant
	Over                     // the Hold had ended before it
	FoundLost                // it was the last, and the validity is over: the grant has ended, as lost
	Last                     // it was the last: the Hold is over, and the caller passes the grant on or releases it
	Inner                    // others stay
)

// Parted is what Part did. The caller does the rest, without the mutex: it ends the level's context, tells the
// observer, and asks the store.
type Parted struct {
	Outcome Outcome
	At      time.Duration // with Last: when the Hold ended
	Ended   Ended         // its Cause: what the level's context ends with, and with Over and FoundLost its unlock
	Done    bool          // the Lock call is over, and the caller tells the observer
	Vacant  bool          // with Over: the grant is over too, and no level of it is left
}

// Part takes the level out of its Hold, once. It does not end the level's context. Open says that the client takes
// calls.
//
// Whether the level was the last one, and so which caller releases, is decided here under the mutex. Two goroutines
// that unlock the last two levels at once are told Inner and Last, in either order, never both the same. What matters
// is not how many levels are left but whether a Hold that lives has one: those of a reader that has ended by its
// MaxHold stay until they are unlocked and keep nothing. So after the lock was released they may be unlocked as well,
// and are told what they ended with.
//
// The last word on whether the Hold lasted until now is said here. If the validity is over, another client may have had
// the lock already, so the owner must learn of it from its unlock, even if the store would still answer "released".
//
// With Refused, the level stays in its Hold, though nobody can unlock it a second time: Close is about to end the
// grant, and the observer that is to be told of that is found by the level.
func (l *Level) Part(isOpen bool) (p Parted) {
	h, g := l.hold, l.hold.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	if !isOpen && g.state == stands && l.state != closed {
		l.state = closed
		return Parted{Outcome: Refused}
	}
	if !l.closeLocked() {
		return Parted{Outcome: NotHeld}
	}
	p.Done = h.depth == 0
	p.Ended.Cause = g.host.Released
	switch {
	case h.err != nil:
		p.Outcome, p.Ended.Cause = Over, h.err
		p.Vacant = g.state == over && g.levelsLocked() == 0
	case g.neededLocked():
		p.Outcome = Inner
		if p.Done {
			h.err = g.host.Released
			g.removeLocked(h)
		}
		g.followLocked()
	default:
		p.At = g.host.Clock.Now()
		if p.At >= g.Lease.ValidUntil() {
			p.Outcome, p.Ended = FoundLost, g.endLocked(g.host.Lost(g, Expired, nil))
			break
		}
		p.Outcome = Last
		g.betweenLocked()
	}
	return p
}
