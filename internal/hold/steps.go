package hold

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// countPause is how long a count may be wrong in Redis before it is told, if Redis answers.
const countPause = Tick

// steps is what is known of the count in Redis. It is the grant's: it goes on from turn to turn. A hold that was never
// nested has none. It is guarded by the hold's mutex.
//
// A nested Lock concerns this process alone: the outermost Lock decided the lease, and the levels are counted here. So
// neither a nested Lock nor its unlock waits for Redis. The count in Redis, where there is one, is for those who look.
// It is told behind the calls, and only if it still differs some milliseconds later: a short level costs no request.
//
// What Redis is told is a step: from the count that stands to the count that is wanted. Redis makes it only if that
// count does stand, and answers what stands then, from which the next step starts. One step of a hold is under way at a
// time, and a hold that waits for the answer to one is not passed on in memory.
//
// For example, "from 1 to 2" is sent and its answer is lost. The level is unlocked meanwhile, so "from 1 to 1" is sent
// next, which changes nothing and is answered "2"; and then "from 2 to 1". A copy of the first step that comes only now
// finds a 1, and makes it 2 once more. That is the worst that a late copy does: the count is wrong, until the next step
// is answered "2" and corrects it, or the hold ends. Nobody decides anything by it. The hold ends whatever count
// stands, and where the hold is gone a step finds nothing and writes nothing.
//
// A step that Redis refuses, because the user may not use HINCRBY, counts as told: it is not sent again and again, and
// does not keep the hold from passing on. The next change of the count tries anew.
type steps struct {
	timer   watchdog.Timer // tells the count
	armed   bool
	writing bool  // a step is under way
	doubt   bool  // the last step was not answered
	stands  int32 // the count that Redis answered last
	pause   time.Duration
}

// wantedLocked is the count that Redis is to have. A hold that is passed on has no level for a moment.
func (h *Hold) wantedLocked() int32 { return max(h.depth, 1) }

// settledLocked reports that no step is unanswered.
func (h *Hold) settledLocked() bool { return h.steps == nil || !h.steps.writing && !h.steps.doubt }

// inherit lets next go on with the count of the turn before, which is settled. Its only level is yet to come.
func (s *steps) inherit(next *Hold) {
	if s == nil {
		return
	}
	next.steps = &steps{stands: s.stands, pause: countPause}
	next.followLocked() // nobody else knows of it yet
}

// Nest adds a level inside another one. The lease stays what it is. A MaxHold ends the hold, or the reader, while the
// level is open. Counts says that the store keeps a count. Nest returns nil if the hold is not live and valid, or if
// the outer level has ended.
func (h *Hold) Nest(ctx context.Context, from *Level, maxHold time.Duration, counts bool) *Level {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live || from.errLocked() != nil || !h.Valid() {
		return nil
	}
	l := h.newLevel(from.reader, from.Owner())
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(l.reader, l, maxHold)
	if counts && h.steps == nil {
		h.steps = &steps{stands: 1, pause: countPause}
	}
	h.followLocked()
	return l
}

// followLocked lets the wheel tell the count soon, if Redis has another one or may have.
func (h *Hold) followLocked() {
	if s := h.steps; s != nil && !s.armed && h.lagsLocked() {
		s.armed = true
		s.timer.Init(func(arg any) { arg.(*Hold).follow() }, h)
		h.host.Wheel.Schedule(&s.timer, h.host.Clock.Now()+s.pause)
	}
}

// lagsLocked reports that the count is to be told, and nobody is doing that.
func (h *Hold) lagsLocked() bool {
	s := h.steps
	return h.state == live && !s.writing && (s.doubt || s.stands != h.wantedLocked())
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
	s.writing = true
	from, to := s.stands, h.wantedLocked()
	h.mu.Unlock()
	h.host.Count(h, from, to)
}

// Counted notes what stands in Redis after a step was answered; 0 means that the hold is gone.
func (h *Hold) Counted(stands int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.steps
	s.writing, s.doubt = false, false
	if stands > 0 {
		s.stands, s.pause = stands, countPause
		h.followLocked()
	}
}

// CountUnknown notes that a step was not answered. The next one is sent after a pause that grows to longest.
func (h *Hold) CountUnknown(longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.steps
	s.writing, s.doubt = false, true
	s.pause = min(2*s.pause, longest)
	h.followLocked()
}
