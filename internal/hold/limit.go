package hold

import (
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// limit is how long a Hold may last, where a caller limits that: to a time (MaxHold), or to less than the validity of
// its grant (Grace). Most have none. It is guarded by the mutex of the key.
type limit struct {
	hold  *Hold
	timer watchdog.Timer
	// ends are the instants at which the Hold has to end, by the level that says so: nil is the call that came to the
	// Hold, whose limit stays when that level is unlocked, because it bounds what all others wait for.
	ends  map[*Level]time.Duration
	grace time.Duration // the Hold ends this long before the validity; 0: with it
}

// limitedLocked is the limit of the Hold, which has one from now on.
func (h *Hold) limitedLocked() *limit {
	if h.limit == nil {
		h.limit = &limit{hold: h}
		h.limit.timer.Init(func(arg any) { arg.(*limit).exceed() }, h.limit)
	}
	return h.limit
}

// limitLocked lets the Hold end after maxHold, unless l is unlocked before.
func (h *Hold) limitLocked(l *Level, maxHold time.Duration) {
	if maxHold <= 0 {
		return
	}
	h.grant.single = true
	m := h.limitedLocked()
	if m.ends == nil {
		m.ends = make(map[*Level]time.Duration)
	}
	m.ends[l] = h.grant.host.Clock.Now() + maxHold
	m.armLocked()
}

// graceLocked lets the Hold end a time before the validity of its grant does, so that work which takes some time to
// stop has stopped before the store can give the lock to another caller. The grant stays valid, and the store keeps it:
// a Hold that is passed on, or joined, ends by its own call's grace.
func (h *Hold) graceLocked(grace time.Duration) {
	if grace > 0 {
		m := h.limitedLocked()
		m.grace = grace
		m.armLocked()
	}
}

// unlimitLocked takes back what a level limited the Hold to.
func (h *Hold) unlimitLocked(l *Level) {
	if h.limit == nil || h.limit.ends[l] == 0 {
		return
	}
	delete(h.limit.ends, l)
	h.limit.armLocked()
}

// armLocked arms the timer for the next end. A renewal that is confirmed puts the end by the grace off and does not arm
// the timer anew: when it fires, it is armed for what the end is then.
func (m *limit) armLocked() {
	host := m.hold.grant.host
	if due := m.due(); due > 0 && m.hold.err == nil {
		host.Wheel.Schedule(&m.timer, due)
	} else {
		host.Wheel.Cancel(&m.timer)
	}
}

// cancel ends the limit, if there is one.
func (m *limit) cancel() {
	if m != nil {
		m.hold.grant.host.Wheel.Cancel(&m.timer)
	}
}

// until is the instant of the end by MaxHold; 0 if nobody limits it.
func (m *limit) until() (until time.Duration) {
	if m == nil {
		return 0
	}
	for _, end := range m.ends {
		if until == 0 || end < until {
			until = end
		}
	}
	return until
}

// due is the instant of the next end, as of now; 0 if nothing limits the Hold.
func (m *limit) due() time.Duration {
	until := m.until()
	if m.grace == 0 {
		return until
	}
	begins := max(m.hold.grant.Lease.ValidUntil()-m.grace, 1)
	if until == 0 {
		return begins
	}
	return min(until, begins)
}

// exceed is called by the wheel, which rounds down. A level may have been unlocked, and its limit taken back, while
// the timer was firing, and a renewal may have been confirmed since it was armed; so the instant is looked at once
// more under the mutex. The Hold ends, and the grant stays for the Holds that others have on it. If there are none,
// nobody joins it any more, and the grant ends as a whole.
//
// The error is made without the mutex, since the last renewal may have failed with an error of the application's.
func (m *limit) exceed() {
	reason, cause := m.exceeded()
	if reason == 0 {
		return
	}
	h, g := m.hold, m.hold.grant
	err := g.host.Lost(g, reason, cause)
	g.mu.Lock()
	if m.reasonLocked() == 0 {
		g.mu.Unlock()
		return
	}
	h.err = err
	if !g.neededLocked() {
		ended := g.endLocked(err)
		g.mu.Unlock()
		g.host.Expire(g, reason, ended)
		return
	}
	ended := Ended{Owners: h.ownersLocked(nil), contexts: h.contextsLocked(nil, err)}
	h.limit.cancel()
	if reason == Expired {
		g.onReleaseLocked().stays = g.Lease.ValidUntil()
	}
	g.ending++ // others may unlock before its contexts have ended
	g.mu.Unlock()
	g.host.Soon(func() {
		ended.Contexts()
		g.host.HoldLost(ended.Owners, err)
		if g.limited(h) {
			g.host.Free(h)
		}
	})
}

// limited takes a Hold off that a limit has ended, when its contexts have ended. It reports that the grant is the
// caller's to pass on, because all others have unlocked meanwhile.
func (g *Grant) limited(h *Hold) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ending--
	g.removeLocked(h)
	return g.goesOnLocked()
}

// EndIfOverdue ends a Hold that has come to its limit, should the wheel not have come to it yet.
func (h *Hold) EndIfOverdue() {
	h.grant.mu.Lock()
	m := h.limit
	h.grant.mu.Unlock()
	if m != nil {
		m.exceed()
	}
}

// exceeded is reasonLocked, with what is said of it besides.
func (m *limit) exceeded() (reason Reason, cause error) {
	g := m.hold.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	reason = m.reasonLocked()
	if reason == Expired {
		cause = graceError{m.grace, g.Lease.Failure()}
	}
	return reason, cause
}

// reasonLocked is why the Hold has to end now; 0 if it has not. The timer is armed for a later end.
func (m *limit) reasonLocked() Reason {
	h, g := m.hold, m.hold.grant
	due := m.due()
	switch {
	case due == 0 || h.err != nil || g.state != stands:
		return 0
	case due-g.host.Clock.Now() > Tick:
		m.armLocked()
		return 0
	case due != m.until():
		return Expired
	}
	return MaxHold
}

// graceError is why a Hold ended before the validity of its grant.
type graceError struct {
	left time.Duration
	last error // of the last renewal; nil if that did not fail
}

func (e graceError) Error() string {
	text := "Grace began, " + e.left.String() + " before the end of the validity"
	if e.last != nil {
		text += ": " + e.last.Error()
	}
	return text
}

func (e graceError) Unwrap() error { return e.last }
