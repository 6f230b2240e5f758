package hold

import (
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// limit is how long a Hold may last, where a caller limits that. Most have none. It is guarded by the mutex of the key.
type limit struct {
	hold  *Hold
	timer watchdog.Timer
	// ends are the instants at which the Hold has to end, by the level that says so: nil is the call that came to the
	// Hold, whose limit stays when that level is unlocked, because it bounds what all others wait for.
	ends map[*Level]time.Duration
}

// limitLocked lets the Hold end after maxHold, unless l is unlocked before.
func (h *Hold) limitLocked(l *Level, maxHold time.Duration) {
	if maxHold <= 0 {
		return
	}
	h.grant.single = true
	if h.limit == nil {
		h.limit = &limit{hold: h, ends: make(map[*Level]time.Duration)}
		h.limit.timer.Init(func(arg any) { arg.(*limit).exceed() }, h.limit)
	}
	h.limit.ends[l] = h.grant.host.Clock.Now() + maxHold
	h.grant.host.Wheel.Schedule(&h.limit.timer, h.limit.until())
}

// unlimitLocked takes back what a level limited the Hold to.
func (h *Hold) unlimitLocked(l *Level) {
	if h.limit == nil || h.limit.ends[l] == 0 {
		return
	}
	delete(h.limit.ends, l)
	if until := h.limit.until(); until > 0 && h.err == nil {
		h.grant.host.Wheel.Schedule(&h.limit.timer, until)
	} else {
		h.limit.cancel()
	}
}

// cancel ends the limit, if there is one.
func (m *limit) cancel() {
	if m != nil {
		m.hold.grant.host.Wheel.Cancel(&m.timer)
	}
}

// until is the instant of the end; 0 if nobody limits it.
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

// exceed is called by the wheel. A level may have been unlocked, and its limit taken back, while the timer was firing;
// so the instant is looked at once more under the mutex. The Hold ends, and the grant stays for the Holds that others
// have on it. If there are none, nobody joins it any more, and the grant ends as a whole, contexts first.
func (m *limit) exceed() {
	h, g := m.hold, m.hold.grant
	g.mu.Lock()
	until := m.until()
	// A timer that fired as its level was unlocked has been armed for a later end. The wheel rounds down.
	early := until == 0 || until-g.host.Clock.Now() > Tick
	if early || h.err != nil || g.state != stands {
		g.mu.Unlock()
		return
	}
	err := g.host.Lost(g, MaxHold, nil)
	h.err = err
	if !g.neededLocked() {
		g.mu.Unlock()
		g.host.Expire(g, MaxHold)
		return
	}
	levels, owners := h.contextsLocked(nil), h.ownersLocked(nil)
	g.removeLocked(h)
	g.mu.Unlock()
	g.host.Soon(func() {
		for _, l := range levels {
			l.End(err)
		}
		g.host.HoldLost(owners, err)
	})
}
