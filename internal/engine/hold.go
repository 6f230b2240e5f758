package engine

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Hold is one owner's possession of one lock. The local state below is the truth about its levels;
// the count in Redis mirrors it.
type Hold struct {
	lease  watchdog.Lease // its validity, and its renewal if a level wants that
	engine *Engine
	proto  store.Protocol
	number holdNumber
	fence  int64
	start  time.Duration // when the call that granted it was first sent, or it was passed on

	// doubt is the server time, in µs, until which a late copy of the acquisition may be carried
	// out; 0 if there can be none.
	doubt int64

	mu    sync.Mutex // guards all below but loose, which is constant
	loose bool       // nobody owns what was taken: it is neither kept nor released
	state state
	lost  bool   // it is over, and not because its owner was done with it
	depth int32  // levels, those under way included
	top   *Level // the newest level, from which the others hang
	cause error  // what its contexts end with, once it is over
	steps *steps // what Redis was told of its levels
	limit *holdLimit
	share *share // who has it, where several readers may; the pointer is constant once it is listed

	longTurn *watchdog.Timer // has the places of those served before it taken away; nil where they have none

	asked time.Duration // the longest lease that Redis was ever asked for

	portion *localqueue.Portion // what it is one of; nil: of nothing. Guarded by its part of the table

	waitedFor bool  // that somebody waits for it here was logged; guarded by its part of the table
	inner     bool  // another side of the lock was asked for inside it; guarded by mu
	suspect   bool  // a message said that somebody released the lock (see suspect.go); guarded by its part of the table
	spare     int16 // how many numbers right above fence are for those to whom it is passed; constant
}

type state uint8

const (
	live   state = iota
	ending       // somebody is releasing it
	over
)

// id is the hold's id. It is made anew each time: most of the time that a hold lives nobody asks, and it takes
// more memory than anything else about it.
func (h *Hold) id() string { return h.engine.idOf(h.number) }

func holdOf(l *watchdog.Lease) *Hold { return l.Owner.(*Hold) }

// newHold makes the local side of a hold that Redis granted. Start is when the granting call was
// first sent. The hold has no level yet: attach adds it.
func (e *Engine) newHold(req Request, id string, fence int64, start time.Duration, doubt int64) *Hold {
	h := &Hold{
		engine: e, proto: req.Proto, number: e.numberOf(id), fence: fence,
		start: start, doubt: doubt, asked: req.Lease, portion: portionOf(req.Proto),
	}
	h.lease.Owner = h
	if req.Kept {
		e.watchdog.Keep(&h.lease, start, req.Lease)
	} else {
		e.watchdog.Guard(&h.lease, validUntil(start, req.Lease))
	}
	return h
}

// valid reports whether the hold may still be believed in at this moment.
func (h *Hold) valid() bool { return h.engine.clock.Now() < h.lease.ValidUntil() }

// expire is called by the watchdog, which will not look after the hold any more.
func (h *Hold) expire(cause error) {
	reason := Expired
	if isGone(cause) {
		reason, cause = Gone, behindGone(cause)
	}
	h.loseSoon(reason, cause)
}

// lose ends the hold without its owner's doing: its contexts end with the reason, the next in line
// may try, and, unless Redis said itself that it is gone, it is released in Redis. It reports false
// if the hold had ended before.
func (h *Hold) lose(reason Reason, cause error) bool {
	rest := h.losing(reason, cause)
	if rest == nil {
		return false
	}
	rest()
	return true
}

// loseSoon is lose for a goroutine that others wait for: the hold is over at once, the rest follows.
func (h *Hold) loseSoon(reason Reason, cause error) {
	if rest := h.losing(reason, cause); rest != nil {
		h.engine.ender.add(rest)
	}
}

// losing makes the hold be over and returns what is left to do then; nil if it had ended before.
func (h *Hold) losing(reason Reason, cause error) (rest func()) {
	e := h.engine
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return nil
	}
	err := e.lostError(h.proto, reason, cause)
	levels := h.endLocked(err)
	h.lost = true
	losers := losersLocked(levels, err)
	return func() {
		e.watchdog.Lose(&h.lease, err)
		for _, l := range levels {
			l.end(err)
		}
		switch reason { // only now, when nobody believes in it any more
		case Expired:
			// The wheel rounds down: whoever goes by ValidUntil may believe in it for a tick more.
			e.sender.ReclaimFrom(h.lease.ValidUntil(), h.asOrphan(), h.longest())
		case MaxHold:
			e.sender.Reclaim(h.asOrphan(), h.longest())
		case Gone:
			e.leavePlaces(h)
		}
		e.table.drop(h, 0)
		for range losers {
			e.events.lost(err)
		}
	}
}

// delist takes a hold that was just listed off the table again if it was over before: the watchdog knows it
// from the start, and whoever ended it has not found it on the table. It would be in everybody's way for ever.
func (h *Hold) delist() {
	h.mu.Lock()
	dead := h.state == over
	h.mu.Unlock()
	if dead {
		h.engine.table.drop(h, 0)
	}
}

// endLocked makes the hold be over and returns the levels whose contexts are to end. They stay
// listed, because each is still to be unlocked.
func (h *Hold) endLocked(cause error) []*Level {
	h.state, h.cause = over, cause
	h.limit.cancel()
	if h.steps != nil {
		h.engine.wheel.Cancel(&h.steps.timer)
	}
	if h.longTurn != nil {
		h.engine.wheel.Cancel(h.longTurn)
	}
	levels := make([]*Level, 0, h.depth)
	for l := h.top; l != nil; l = l.below {
		if !l.pending {
			levels = append(levels, l)
		}
		if l.reader != nil {
			l.reader.limit.cancel()
		}
	}
	return levels
}

func (e *Engine) lostError(p store.Protocol, reason Reason, cause error) error {
	if cause != nil {
		cause = ours(cause)
	}
	return e.cfg.Errors.Lost(p.Name(), reason, cause)
}

// longestLocked is the lease that Redis has to keep from now on, for every level that is left.
func (h *Hold) longestLocked(now time.Duration) time.Duration {
	var longest time.Duration
	for l := h.top; l != nil; l = l.below {
		if l.errLocked() != nil {
			continue
		}
		if l.kept {
			longest = max(longest, l.lease)
		} else {
			longest = max(longest, l.until-now)
		}
	}
	return longest.Truncate(time.Millisecond)
}

// superviseLocked gives the watchdog the hold as its levels want it, after one of them left. The
// release that is about to be sent sets the lease in Redis to ttl, so validity must not outlast that.
func (h *Hold) superviseLocked(now, ttl time.Duration) {
	until := validUntil(now, ttl)
	for l := h.top; l != nil; l = l.below {
		if l.errLocked() == nil && l.kept {
			h.engine.watchdog.Shorten(&h.lease, until)
			return
		}
	}
	h.engine.watchdog.Guard(&h.lease, min(until, h.lease.ValidUntil()))
}

// stepLocked numbers the next change of the hold that somebody waits for, which then has to call stepped.
func (h *Hold) stepLocked(now time.Duration) store.Step {
	s := h.stepsLocked()
	s.op++
	s.awaited++
	ttl := h.longestLocked(now)
	h.asked = max(h.asked, ttl)
	return store.Step{ID: h.id(), Count: int64(h.levelsLocked()), Op: s.op, TTL: ttl}
}

// longest is how long Redis keeps the hold at most, if nothing extends it any more.
func (h *Hold) longest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// confirmLocked raises validity by what a step's answer says: Redis has kept the hold for ttl since a
// time that is not before start. That holds for "done before" as well, for the step was not sent before
// start. It does not hold if an inner unlock was numbered after the step, which set the lease back.
func (h *Hold) confirmLocked(op int64, start, ttl time.Duration) bool {
	if op < h.steps.left {
		return false
	}
	h.engine.watchdog.Extend(&h.lease, validUntil(start, ttl))
	return true
}

// renewTTL is the lease that a renewal asks for: the longest that a level needs. It is 0 for a hold
// that has ended.
func (h *Hold) renewTTL(now time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return 0
	}
	ttl := max(h.longestLocked(now), h.engine.cfg.Lease)
	h.asked = max(h.asked, ttl)
	return ttl
}
