package hold

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// A nested Lock that asks for no more than its hold has is nobody's business but this process's: how many levels
// there are is decided here, and the count in Redis is for those who look. So neither that Lock nor its unlock
// waits for Redis. The count is written behind them, if it is another one some time later: levels that are
// short cost no request at all.
//
// What is written so is the count that is wanted when it is sent, and never a TTL. One such request of a hold is
// under way at a time, and none while somebody waits for a step that sets a TTL: that one writes the count too,
// and if a newer one came before it, Redis would answer "done before" without having set the TTL.
//
// The hold ends without regard to it. A count that comes late finds no such hold, for its field has been
// removed or has another id, and writes nothing. Only where the field stays, since the hold passes to another
// turn in memory, could it write: a hold is not passed like that before every number is settled.
//
// For example: step 4 says "two levels" and its answer is lost. The count is written again, as step 5, "one level", and
// answered. Redis has noted number 5, so a copy of step 4 that comes now is answered "done before" and changes nothing:
// all numbers up to 5 are settled, and the hold may pass. Had step 5 no answer either, the hold would be released.

// countPause is how long a count may be wrong in Redis before it is written, if Redis answers.
const countPause = Tick

// steps is what is known of what Redis was told of a hold's levels. It is the grant's: it goes on from turn to
// turn. A hold that was never nested has none. It is guarded by the hold's mutex.
type steps struct {
	timer watchdog.Timer // writes the count
	armed bool

	op       int64 // the last operation number that was given out
	answered int64 // the newest that Redis carried out: no copy of it or of an older one can do anything any more
	left     int64 // that of the last inner unlock that set the lease in Redis back
	count    int32 // what Redis has as of answered
	awaited  int32 // steps under way that somebody waits for
	writing  bool  // the count is on its way
	pause    time.Duration
}

// stepsLocked are the hold's, which are made if there are none.
func (h *Hold) stepsLocked() *steps {
	if h.steps == nil {
		h.steps = &steps{count: 1, pause: countPause}
	}
	return h.steps
}

// wantedLocked is the count that Redis is to have. A hold that is passed on has no level for a moment.
func (h *Hold) wantedLocked() int32 { return max(h.levelsLocked(), 1) }

// settledLocked reports that nothing that was sent of the hold's levels can change anything any more.
func (h *Hold) settledLocked() bool {
	return h.steps == nil || h.counts && h.steps.op == h.steps.answered
}

// inherit has next go on with the numbers of the turn before, which are settled. It has one level to come.
func (s *steps) inherit(next *Hold) {
	if s == nil {
		return
	}
	next.steps = &steps{op: s.op, answered: s.answered, count: s.count, pause: countPause}
	next.followLocked() // nobody else knows of it yet
}

// Nest adds a level that asks for no more than the hold has. It returns nil if Redis has to be asked.
func (h *Hold) Nest(ctx context.Context, from *Level, want Want) *Level {
	if !want.Kept || !h.counts {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live || from.errLocked() != nil || !h.Valid() || !h.coversLocked(want.Lease) {
		return nil
	}
	l := h.newLevel(from.reader, 0, want, from.Owner())
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(l.reader, l, want.MaxHold)
	h.stepsLocked()
	h.followLocked()
	return l
}

// leavesLocked reports that a level that was just closed leaves the hold as it is but for the count.
func (l *Level) leavesLocked() bool {
	h := l.hold
	if !l.kept || !h.counts || !h.Valid() || !h.coversLocked(l.lease) {
		return false
	}
	h.stepsLocked()
	h.followLocked()
	return true
}

// stepLocked notes the longest lease that Redis is asked for before the step is sent, because the reclaimer must
// wait that long for a hold of which nothing is known any more. It numbers the next change of the hold that
// somebody waits for, which then has to call Stepped.
func (h *Hold) stepLocked(now time.Duration) Step {
	s := h.stepsLocked()
	s.op++
	s.awaited++
	ttl := h.longestLocked(now)
	h.asked = max(h.asked, ttl)
	return Step{Count: int64(h.levelsLocked()), Op: s.op, TTL: ttl}
}

// Stepped notes how a step ended that somebody waited for.
func (h *Hold) Stepped(step Step, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps.awaited--
	if answered {
		h.steps.carried(step)
	}
	h.followLocked()
}

// carried notes that Redis carried out a step or, with "done before", a newer one.
func (s *steps) carried(step Step) {
	if step.Op > s.answered {
		s.answered, s.count = step.Op, int32(step.Count)
	}
}

// followLocked has the count written soon, if Redis has another one or may have.
func (h *Hold) followLocked() {
	if s := h.steps; s != nil && !s.armed && h.lagsLocked() {
		s.armed = true
		s.timer.Init(func(arg any) { arg.(*Hold).follow() }, h)
		h.host.Wheel.Schedule(&s.timer, h.host.Clock.Now()+s.pause)
	}
}

// lagsLocked reports that the count is to be written, and nobody else is about to.
func (h *Hold) lagsLocked() bool {
	s := h.steps
	return h.state == live && h.counts && !s.writing && s.awaited == 0 &&
		(s.op != s.answered || s.count != h.wantedLocked())
}

// follow is called by the wheel.
func (h *Hold) follow() {
	h.mu.Lock()
	s := h.steps
	s.armed = false
	if !h.lagsLocked() {
		h.mu.Unlock()
		return
	}
	s.op++
	s.writing = true
	step := Step{Count: int64(h.wantedLocked()), Op: s.op}
	h.mu.Unlock()
	h.host.Count(h, step)
}

// Counted notes how the writing of a count ended. Without an answer it is written again, with a new number, after a
// pause that grows to longest. A hold that is gone has no count.
func (h *Hold) Counted(step Step, answered, gone bool, longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.steps
	s.writing = false
	s.pause = min(2*s.pause, longest)
	if answered && !gone {
		s.carried(step)
		s.pause = countPause
	}
	if !gone {
		h.followLocked()
	}
}

// Straighten is the step that has Redis know of the one level that a hold is exported with, for which the caller waits
// and then calls Stepped. It reports false if Redis knows already.
func (h *Hold) Straighten() (Step, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.steps
	if !h.counts || s == nil || h.settledLocked() && s.count == 1 {
		return Step{}, false
	}
	s.op++
	s.awaited++
	return Step{Count: 1, Op: s.op}, true
}

// confirmLocked raises validity by what a step's answer says: Redis has kept the hold for ttl since a
// time that is not before start. That holds for "done before" as well, for the step was not sent before
// start. It does not hold if an inner unlock was numbered after the step, which set the lease back.
func (h *Hold) confirmLocked(op int64, start, ttl time.Duration) bool {
	if op < h.steps.left {
		return false
	}
	h.host.Watchdog.Extend(&h.Lease, ValidUntil(start, ttl))
	return true
}

// Confirm raises validity by what the answer to a step says that was first sent at start.
func (h *Hold) Confirm(step Step, start time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.confirmLocked(step.Op, start, step.TTL)
}
