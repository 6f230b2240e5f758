package hold

// Outcome is what became of a level that its owner unlocks.
type Outcome uint8

const (
	NotHeld Outcome = iota // it was unlocked before
	Refused                // the client is closed; Close ends the hold
	Over                   // the hold had ended before it
	Last                   // it was the last: the hold is ending, and the caller releases it
	Inner                  // others stay
)

// Parted is what Part did. The caller does the rest, without the mutex: it ends the level's context, tells the
// observer, and asks Redis.
type Parted struct {
	Outcome Outcome
	Own     error // what the level ended with before the hold did; nil if it had not ended
	Cause   error // with Over: what the hold ended with
	Done    bool  // the Lock call is over, and the caller tells the observer
}

// Part takes the level out of its hold, once. It does not end the level's context. Open says that the client takes
// calls.
//
// Whether the level was the last one, and so which caller releases, is decided here under the mutex. Two goroutines
// that unlock the last two levels at once are told Inner and Last, in either order, never both the same. What matters
// is not how many levels are left but whether one of them still needs the hold: those of a reader that has ended by its
// MaxHold stay until they are unlocked and keep nothing. So after the lock was released they may be unlocked as well,
// and are told what they ended with.
//
// With Refused, the level stays in the hold, though nobody can unlock it a second time: Close is about to end the hold,
// and whoever is to be told of that is found by the level.
func (l *Level) Part(open bool) (p Parted) {
	h := l.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if !open && h.state == live && (l.open || l.pending) {
		l.open, l.pending = false, false // it stays, for Close to find whose hold it ends
		return Parted{Outcome: Refused, Own: l.errLocked()}
	}
	if !l.closeLocked() {
		return Parted{Outcome: NotHeld}
	}
	p.Own = l.errLocked()
	if h.state != live {
		p.Outcome, p.Cause = Over, h.cause
		p.Done = l.doneLocked()
		return p
	}
	if !h.neededLocked() {
		h.state, p.Outcome = ending, Last
		l.lastLocked()
		return p
	}
	p.Outcome = Inner
	p.Done = l.doneLocked()
	h.followLocked()
	return p
}
