package hold

import (
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// limit is how long a hold may be held, where somebody limits that, or one of the readers that have it, and how long
// the lock has to be kept at least. Most have none. It is guarded by the hold's mutex.
type limit struct {
	hold   *Hold
	reader *reader // whose it is; nil: the hold's
	timer  watchdog.Timer
	// ends are the instants at which the hold has to end, by the level that says so: nil is the call that took
	// the hold, whose limit stays when that level is unlocked, because it bounds what all others wait for.
	ends map[*Level]time.Duration

	least int64 // see KeepUntil
}

func newLimit(h *Hold, r *reader) *limit {
	m := &limit{hold: h, reader: r, ends: make(map[*Level]time.Duration)}
	m.timer.Init(func(arg any) { arg.(*limit).exceed() }, m)
	return m
}

// limitOf is the limit of one of the readers that have the hold, or of the hold itself.
func (h *Hold) limitOf(r *reader) **limit {
	if r != nil {
		return &r.limit
	}
	return &h.limit
}

// limitLocked has the hold, or the reader, end after maxHold, unless l is unlocked before.
func (h *Hold) limitLocked(r *reader, l *Level, maxHold time.Duration) {
	if maxHold <= 0 {
		return
	}
	at := h.limitOf(r)
	if *at == nil {
		*at = newLimit(h, r)
	}
	(*at).ends[l] = h.host.Clock.Now() + maxHold
	h.host.Wheel.Schedule(&(*at).timer, (*at).until())
}

// unlimitLocked takes back what a level limited the hold to.
func (h *Hold) unlimitLocked(l *Level) {
	limit := *h.limitOf(l.reader)
	if limit == nil || limit.ends[l] == 0 {
		return
	}
	delete(limit.ends, l)
	if until := limit.until(); until > 0 && h.state == live {
		h.host.Wheel.Schedule(&limit.timer, until)
	} else {
		limit.cancel()
	}
}

// cancel ends the limit, if there is one.
func (m *limit) cancel() {
	if m != nil {
		m.hold.host.Wheel.Cancel(&m.timer)
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
// so the instant is looked at once more under the mutex. It ends what was held for as long as it may be.
func (m *limit) exceed() {
	h := m.hold
	h.mu.Lock()
	until := m.until()
	// A timer that fired as its level was unlocked has been armed for a later end. The wheel rounds down.
	early := until == 0 || until-h.host.Clock.Now() > Tick
	h.mu.Unlock()
	switch {
	case early:
	case m.reader != nil:
		m.reader.exceed()
	default:
		h.host.Expire(h, MaxHold)
	}
}
