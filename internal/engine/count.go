package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
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

// countPause is how long a count may be wrong in Redis before it is written, if Redis answers.
const countPause = tick

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

// wanted is the count that Redis is to have. A hold that is passed on has no level for a moment.
func (h *Hold) wantedLocked() int32 { return max(h.levelsLocked(), 1) }

// settledLocked reports that nothing that was sent of the hold's levels can change anything any more.
func (h *Hold) settledLocked() bool {
	return h.steps == nil || h.proto.Traits().Counts && h.steps.op == h.steps.answered
}

// inherit has next go on with the numbers of the turn before, which are settled. It has one level to come.
func (s *steps) inherit(next *Hold) {
	if s == nil {
		return
	}
	next.steps = &steps{op: s.op, answered: s.answered, count: s.count, pause: countPause}
	next.followLocked() // nobody else knows of it yet
}

// coversLocked reports that the hold is renewed for another level with a lease that is no shorter.
func (h *Hold) coversLocked(lease time.Duration) bool {
	for l := h.top; l != nil; l = l.below {
		if l.kept && !l.pending && l.lease >= lease && l.errLocked() == nil {
			return true
		}
	}
	return false
}

// nest adds a level that asks for no more than the hold has. It returns nil if Redis has to be asked.
func (h *Hold) nest(ctx context.Context, from *Level, req Request) *Level {
	if !req.Kept || !h.proto.Traits().Counts {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live || from.errLocked() != nil || !h.valid() || !h.coversLocked(req.Lease) {
		return nil
	}
	l := &Level{hold: h, reader: from.reader, lease: req.Lease, kept: true}
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(l.reader, l, req.MaxHold)
	h.stepsLocked()
	h.followLocked()
	return l
}

// leavesLocked reports that a level that was just closed leaves the hold as it is but for the count.
func (l *Level) leavesLocked() bool {
	h := l.hold
	if !l.kept || !h.proto.Traits().Counts || !h.valid() || !h.coversLocked(l.lease) {
		return false
	}
	h.stepsLocked()
	h.followLocked()
	return true
}

// stepped notes how a step ended that somebody waited for.
func (h *Hold) stepped(step store.Step, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps.awaited--
	if answered {
		h.steps.carried(step)
	}
	h.followLocked()
}

// carried notes that Redis carried out a step or, with "done before", a newer one.
func (s *steps) carried(step store.Step) {
	if step.Op > s.answered {
		s.answered, s.count = step.Op, int32(step.Count)
	}
}

// followLocked has the count written soon, if Redis has another one or may have.
func (h *Hold) followLocked() {
	if s := h.steps; s != nil && !s.armed && h.lagsLocked() {
		s.armed = true
		s.timer.Init(func(arg any) { arg.(*Hold).follow() }, h)
		h.engine.wheel.Schedule(&s.timer, h.engine.clock.Now()+s.pause)
	}
}

// lagsLocked reports that the count is to be written, and nobody else is about to.
func (h *Hold) lagsLocked() bool {
	s := h.steps
	return h.state == live && h.proto.Traits().Counts && !s.writing && s.awaited == 0 &&
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
	step := store.Step{ID: h.id(), Count: int64(h.wantedLocked()), Op: s.op}
	h.mu.Unlock()
	h.engine.sender.Spawn(func() { h.writeCount(step) }) // refused when Close is at work, which then ends the hold
}

// straighten has Redis know of the one level that a hold is exported with, so that nothing of the others is
// left with whoever imports it. Without an answer, what a reader's inner levels left ends with its lease.
func (h *Hold) straighten() {
	h.mu.Lock()
	s := h.steps
	if !h.proto.Traits().Counts || s == nil || h.settledLocked() && s.count == 1 {
		h.mu.Unlock()
		return
	}
	s.op++
	s.awaited++
	step := store.Step{ID: h.id(), Count: 1, Op: s.op}
	h.mu.Unlock()
	status, err := h.sendCount(step)
	h.stepped(step, err == nil && status != store.Gone)
}

// sendCount sends a count, and no TTL.
func (h *Hold) sendCount(step store.Step) (store.Status, error) {
	e := h.engine
	var reply store.StepReply
	err := request.Exchange(crash.Count, func() (err error) {
		reply, err = h.proto.Reenter(e.sender.Within(background, e.sender.Limit(e.cfg.Lease)), step)
		return err
	})
	return reply.Status, err
}

// writeCount tells Redis how many levels there are. If it does not come to know, it is told again, with a new
// number, as often as a hold is renewed at least.
func (h *Hold) writeCount(step store.Step) {
	e := h.engine
	status, err := h.sendCount(step)
	kind := store.FaultOf(err)
	gone := kind == store.FaultConflict || kind == store.FaultNone && status == store.Gone
	h.mu.Lock()
	s := h.steps
	s.writing = false
	s.pause = min(2*s.pause, e.cfg.Lease/3)
	if kind == store.FaultNone && !gone {
		s.carried(step)
		s.pause = countPause
	}
	if !gone {
		h.followLocked()
	}
	h.mu.Unlock()
	if gone {
		h.lose(Gone, behindGone(err)) // unless somebody released or exported it: then it is not live
	}
}
