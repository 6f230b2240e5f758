package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// holdLimit is how long a hold may be held, where somebody limits that. Most holds have none. It is guarded
// by the hold's mutex.
type holdLimit struct {
	timer watchdog.Timer
	// ends are the instants at which the hold has to end, by the level that says so: nil is the call that took
	// the hold, whose limit stays when that level is unlocked, because it bounds what all others wait for.
	ends map[*Level]time.Duration
}

// limitLocked has the hold end after maxHold, unless l is unlocked before.
func (h *Hold) limitLocked(l *Level, maxHold time.Duration) {
	if maxHold <= 0 {
		return
	}
	if h.limit == nil {
		h.limit = &holdLimit{ends: make(map[*Level]time.Duration)}
		h.limit.timer.Init(func(arg any) { arg.(*Hold).exceed() }, h)
	}
	h.limit.ends[l] = h.engine.clock.Now() + maxHold
	h.engine.wheel.Schedule(&h.limit.timer, h.limitedTo())
}

// unlimitLocked takes back what a level limited the hold to.
func (h *Hold) unlimitLocked(l *Level) {
	if h.limit == nil || h.limit.ends[l] == 0 {
		return
	}
	delete(h.limit.ends, l)
	if until := h.limitedTo(); until > 0 && h.state == live {
		h.engine.wheel.Schedule(&h.limit.timer, until)
	} else {
		h.engine.wheel.Cancel(&h.limit.timer)
	}
}

// limitedTo is the instant at which the hold has to end; 0 if nobody limits it. It needs the hold's mutex.
func (h *Hold) limitedTo() (until time.Duration) {
	if h.limit == nil {
		return 0
	}
	for _, end := range h.limit.ends {
		if until == 0 || end < until {
			until = end
		}
	}
	return until
}

// exceed ends a hold that was held for as long as it may be.
func (h *Hold) exceed() {
	h.mu.Lock()
	until := h.limitedTo()
	// A timer that fired as its level was unlocked has been armed for a later end. The wheel rounds down.
	early := until == 0 || until-h.engine.clock.Now() > tick
	h.mu.Unlock()
	if !early {
		h.loseSoon(MaxHold, nil)
	}
}
