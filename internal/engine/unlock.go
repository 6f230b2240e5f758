package engine

import (
	"cmp"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Unlock frees this level, once, and with the last level the hold. It works from any goroutine and
// after every context ended; it is bounded by the release timeout.
func (l *Level) Unlock() error {
	open := l.hold.engine.sender.Begin() // before the hold is ending, which Close leaves to whoever is ending it
	if open {
		defer l.hold.engine.sender.Done()
	}
	end := l.hold.engine.releaseEnd()
	last, err := l.part(open, end)
	if last {
		return cmp.Or(err, l.hold.release(l, end))
	}
	return err
}

// releaseEnd is until when Redis is asked to release something.
func (e *Engine) releaseEnd() time.Duration { return e.clock.Now() + e.cfg.ReleaseTimeout }

// part takes the level out of its hold. The last level leaves the hold in state ending, for the caller to release.
// Another one is told to Redis, until end, if the lease changes by it.
func (l *Level) part(open bool, end time.Duration) (last bool, err error) {
	h, e := l.hold, l.hold.engine
	if l.reader != nil && !h.valid() { // it leaves the hold to others, who are to learn as well
		h.lose(Expired, nil)
	}
	h.mu.Lock()
	if !l.closeLocked() {
		h.mu.Unlock()
		return false, &callError{kind: e.cfg.Errors.NotHeld, name: h.proto.Name()}
	}
	own := l.errLocked()
	if !open && h.state == live {
		h.mu.Unlock()
		l.end(e.refuse(h.proto))
		return false, e.refuse(h.proto)
	}
	if h.state != live {
		cause := h.cause
		since, done := l.doneLocked()
		h.mu.Unlock()
		l.end(cause)
		if done {
			e.events.released(h.proto.Name(), since, cmp.Or(own, cause))
		}
		return false, cmp.Or(own, cause)
	}
	now := e.clock.Now()
	if h.longestLocked(now) == 0 {
		h.state = ending
		l.lastLocked()
		h.mu.Unlock()
		return true, own
	}
	since, done := l.doneLocked()
	if done {
		defer func() { e.events.released(h.proto.Name(), since, err) }()
	}
	if l.leavesLocked() {
		h.mu.Unlock()
		l.end(e.cfg.Errors.Released)
		return false, own
	}
	step := h.stepLocked(now)
	h.steps.left = step.Op
	h.superviseLocked(now, step.TTL)
	h.mu.Unlock()
	l.end(e.cfg.Errors.Released)
	return false, cmp.Or(own, h.leave(step, end))
}

// leave tells Redis of the levels that remain.
func (h *Hold) leave(step store.Step, end time.Duration) error {
	e := h.engine
	// Not of step.TTL: what is left of a lease says nothing about how long Redis takes to answer.
	limit := e.sender.Limit(e.cfg.Lease)
	start, answered := e.clock.Now(), false
	defer func() { h.stepped(step, answered) }()
	var reply store.StepReply
	var err error
	if !e.sender.Retry(background, end, func() request.Next {
		err = request.Exchange(crash.Leave, func() (err error) {
			reply, err = h.proto.Leave(e.sender.Within(e.by(end), min(limit, end-e.clock.Now())), step)
			return err
		})
		switch store.FaultOf(err) {
		case store.FaultNone, store.FaultConflict:
			return request.Settled
		case store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		return e.unavailable(h.proto, err)
	}
	if err != nil || reply.Status == store.Gone {
		h.lose(Gone, err)
		return h.loss()
	}
	answered = true
	h.mu.Lock()
	h.confirmLocked(step.Op, start, step.TTL)
	h.mu.Unlock()
	return nil
}

// loss is why the hold was lost, nil if it was not: somebody may have released it while a level was on its
// way out, which then is out all the same.
func (h *Hold) loss() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lost {
		return nil
	}
	return h.cause
}

// release ends a hold that is in state ending: its renewal and its contexts first, and only then Redis
// is told, so that nobody believes in it when the next one may have it.
func (h *Hold) release(l *Level, end time.Duration) error {
	if err := h.conclude(l); err != nil {
		return err
	}
	return h.finish(end)
}

// conclude ends renewal and context of a hold that is in state ending, or finds it lost.
func (h *Hold) conclude(l *Level) error {
	e := h.engine
	held := e.watchdog.Stop(&h.lease) && h.valid()
	if !held {
		err := h.missed(l, Expired, nil)
		l.end(err)
		return err
	}
	l.end(e.cfg.Errors.Released)
	return nil
}

// finish lets a hold go that its owner is done with.
func (h *Hold) finish(end time.Duration) error {
	err := h.letGo(end)
	h.engine.events.released(h.proto.Name(), h.since(), err)
	return err
}

// letGo hands the hold on or releases it, when nobody believes in it any more.
func (h *Hold) letGo(end time.Duration) error {
	h.stop()
	_ = crash.At(crash.Unlock)
	err := h.engine.passOn(h, end)
	h.sweep()
	return err
}

// stop ends what is left of a hold in this process.
func (h *Hold) stop() {
	e := h.engine
	e.watchdog.Stop(&h.lease)
	h.mu.Lock()
	levels := h.endLocked(e.cfg.Errors.Released)
	h.mu.Unlock()
	for _, l := range levels {
		l.end(e.cfg.Errors.Released)
	}
}

// asOrphan is the hold as the reclaimer takes it over.
func (h *Hold) asOrphan() request.Orphan {
	return request.Orphan{Proto: h.proto, ID: h.id(), NotAfter: h.doubt}
}

// sweep has released again what a late copy of the acquisition may still take.
func (h *Hold) sweep() {
	e := h.engine
	if h.doubt > 0 && !e.sender.Past(h.proto.Key(), h.doubt) {
		e.sender.Reclaim(h.asOrphan(), h.longest())
	}
}

// missed ends a hold in state ending that turns out to have been lost.
func (h *Hold) missed(from *Level, reason Reason, cause error) error {
	e := h.engine
	err := e.lostError(h.proto, reason, cause)
	h.mu.Lock()
	levels := h.endLocked(err)
	h.lost = len(levels) > 0 // then the last of them tells that it is released
	last := !h.lost || from.reader != nil && from.reader.levels == 0
	h.mu.Unlock()
	for _, l := range levels {
		l.end(err)
	}
	if reason == Gone {
		e.leavePlaces(h)
	} else {
		e.sender.Reclaim(h.asOrphan(), h.longest())
	}
	e.table.drop(h, 0)
	e.events.lost(err)
	if last {
		e.events.released(h.proto.Name(), h.since(), err)
	}
	return err
}

// discard releases a hold that nobody ever got to see.
func (h *Hold) discard() {
	if h.claim() {
		_ = h.letGo(h.engine.releaseEnd())
	}
}

// claim makes the caller the one who ends the hold.
func (h *Hold) claim() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return false
	}
	h.state = ending
	return true
}

// orphan ends a hold that nobody ever got to see and that its client, which is closing, leaves to the
// reclaimer.
func (h *Hold) orphan() {
	h.mu.Lock()
	alive := h.state == live
	if alive {
		h.endLocked(h.engine.refuse(h.proto))
	}
	h.mu.Unlock()
	if alive {
		h.engine.watchdog.Stop(&h.lease)
		h.engine.sender.Reclaim(h.asOrphan(), h.longest())
		h.engine.table.drop(h, 0)
	}
}

func isGone(err error) bool { return errors.Is(err, watchdog.ErrGone) }

// behindGone is what an error says besides that a hold is gone, which is the reason of its loss.
func behindGone(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return store.ErrConflict
	}
	return nil
}
