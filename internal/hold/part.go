package hold

// Outcome is what became of a level that its owner unlocks.
type Outcome uint8

const (
	NotHeld Outcome = iota // it was unlocked before
	Refused                // the client is closed; Close ends the hold
	Over                   // the hold had ended before it
	Last                   // it was the last: the hold is ending, and the caller releases it
	Inner                  // others stay, and for Redis nothing changes that somebody has to wait for
	Shrunk                 // others stay, and Step sets the lease in Redis back to what they need
)

// Parted is what Part did. The caller does the rest, without the mutex: it ends the level's context, tells the
// observer, and asks Redis.
type Parted struct {
	Outcome Outcome
	Own     error // what the level ended with before the hold did; nil if it had not ended
	Cause   error // with Over: what the hold ended with
	Step    Step  // with Shrunk: for which the caller waits, and then calls Stepped
	Done    bool  // the Lock call is over, and the caller tells the observer
}

// Part takes the level out of its hold, once. It does not end the level's context. Open says that the client takes
// calls.
//
// Whether the level was the last one, and so which caller releases, is decided here under the mutex. Two goroutines
// that unlock the last two levels at once are told Inner and Last, in either order, never both the same. What matters
// is not how many levels are left but whether one of them still needs the lease: levels that have ended by themselves
// (a fixed lease that ran out) stay until they are unlocked and keep nothing. So after the lock was released they may
// be unlocked as well, and are told what they ended with.
//
// With Refused, the level stays in the hold, though nobody can unlock it a second time: Close is about to end the hold,
// and whoever is to be told of that is found by the level.
//
// With Shrunk, an inner level had a longer lease than those that stay. For example, a hold that is renewed for 10 s
// has an inner level with a fixed lease of 60 s. When that one is unlocked, 10 s are enough, and Redis is told,
// for otherwise a process that dies now would keep the lock for a minute. Validity is set back before the request
// is sent and not after its answer: if the answer is lost, Redis may have set the lease back all the same.
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
	now := h.host.Clock.Now()
	if h.longestLocked(now) == 0 {
		h.state, p.Outcome = ending, Last
		l.lastLocked()
		return p
	}
	p.Done = l.doneLocked()
	if l.leavesLocked() {
		p.Outcome = Inner
		return p
	}
	p.Outcome, p.Step = Shrunk, h.stepLocked(now)
	h.steps.left = p.Step.Op
	h.superviseLocked(now, p.Step.TTL)
	return p
}
