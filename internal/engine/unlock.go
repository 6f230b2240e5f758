package engine

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
)

// Unlock frees a level, once, and with the last level the hold. It works from any goroutine and
// after every context ended; it is bounded by the release timeout.
func Unlock(l *hold.Level) error {
	h := holdOf(l)
	open := h.engine.sender.Begin() // before the hold is ending, which Close leaves to whoever is ending it
	if open {
		defer h.engine.sender.Done()
	}
	end := h.engine.releaseEnd()
	last, err := h.part(l, open)
	if last {
		return h.release(l, end, err)
	}
	return err
}

// releaseEnd is until when Redis is asked to release something.
func (e *Engine) releaseEnd() time.Duration { return e.clock.Now() + e.cfg.ReleaseTimeout }

// part takes the level out of its hold. The last level leaves the hold ending, for the caller to release.
//
// What an unlock does, by what it finds:
//
//	not the last level                        nothing is sent; the count follows later
//	the last level                            contexts end; then the hold passes in memory, or is released
//	the hold was lost before                  nothing is sent; the loss is returned
//	the hold turns out to be over just now    the loss is returned, and the id is reclaimed
//	unlocked before, or the client is closed  an error, and nothing else
//
// A level is unlocked once, by whoever calls first; the unlock function of a Lock call may be called by any
// goroutine and after any context has ended. What it returns is about the time until then: nil means that the hold
// was held until its contexts ended, and that it was passed on, or that Redis confirmed the release. After a pass
// in memory nobody has asked Redis, so that nil does not prove that the key stood there at that moment; if it was
// gone, whoever has the next turn learns of it.
func (h *Hold) part(l *hold.Level, open bool) (last bool, err error) {
	e := h.engine
	if h.Nested() { // it leaves the hold to others, who are to learn as well
		h.expireIfOver()
	}
	parted := l.Part(open)
	if parted.Done {
		defer func() { Ended(l.Owner(), err) }()
	}
	switch parted.Outcome {
	case hold.NotHeld:
		return false, h.notHeld()
	case hold.Refused:
		l.End(e.refuse(h.proto))
		return false, e.refuse(h.proto)
	case hold.Over:
		l.End(parted.Cause)
		return false, cmp.Or(parted.Own, parted.Cause)
	case hold.Last:
		return true, parted.Own
	}
	l.End(e.cfg.Errors.Released)
	return false, parted.Own
}

// notHeld makes the error of a call for which the hold, or a level of it, is no more.
func (h *Hold) notHeld() error {
	return &callError{kind: h.engine.cfg.Errors.NotHeld, of: h.proto}
}

// release lets a hold go that is ending: its renewal and its contexts end first, and only then Redis
// is told, so that nobody relies on it when the next one may have it. The same order holds when it is passed on in
// memory: the next turn's context is made when this one's has ended.
func (h *Hold) release(l *hold.Level, end time.Duration, own error) error {
	if err := h.conclude(l); err != nil {
		return cmp.Or(own, err)
	}
	return h.finish(l, end, own)
}

// conclude ends renewal and context of a hold that is ending, or finds it lost.
//
// For example, a process is stopped by the operating system in the middle of a section, for longer than its lease. When
// it goes on, the first thing that runs may be the owner's unlock, before the wheel has noticed the time. Its contexts
// have not ended yet, and Redis may even still have the key, if the clock of the two differ. The unlock compares the
// validity with the clock, tells the loss, and sends no release that could be taken for a success.
//
// The last word on whether the hold was held until now is said here: the watchdog gives the lease up, which no renewal
// can raise after that, and its validity is compared with the clock. If it is over, another client may have had the
// lock already, so the owner must learn of it from its unlock, even if Redis would still answer "released".
func (h *Hold) conclude(l *hold.Level) error {
	e := h.engine
	if held := e.watchdog.Stop(&h.Lease) && h.Valid(); held {
		l.End(e.cfg.Errors.Released)
		return nil
	}
	err := e.lostError(h.proto, hold.Expired, nil)
	ended, _ := h.End(hold.FoundLost, l, err) // nobody else ends a hold that is ending
	ended.Contexts()
	e.sender.Reclaim(h.asOrphan(), h.Longest())
	e.table.drop(h)
	for range ended.Losers {
		e.events.lost(err)
	}
	Ended(l.Owner(), err)
	l.End(err)
	return err
}

// finish lets a hold go that its owner is done with, and tells the observer. Own is what the last level ended with.
func (h *Hold) finish(l *hold.Level, end time.Duration, own error) error {
	err := cmp.Or(own, h.letGo(end))
	Ended(l.Owner(), err)
	return err
}

// letGo is the last thing that is done with a hold here. It passes the hold on or releases it, when no context says
// any more that it is held.
func (h *Hold) letGo(end time.Duration) error {
	h.stop()
	_ = crash.At(crash.Unlock)
	err := h.engine.passOn(h, end)
	h.sweep()
	return err
}

// stop ends what is left in this process of a hold that is ending. The release is yet to be sent: if no copy of the
// acquisition can come from now on, what one did is released by it.
func (h *Hold) stop() {
	e := h.engine
	e.watchdog.Stop(&h.Lease)
	if ended, ok := h.End(hold.Unlocked, nil, e.cfg.Errors.Released); ok {
		ended.Contexts()
		if h.doubt > 0 && e.sender.Past(h.proto.Key(), h.doubt) {
			h.doubt = 0
		}
	}
}

// sweep has released again what a late copy of the acquisition may still take. For example: the acquisition was sent
// twice because its first answer was lost, and the first copy still stands in a proxy's buffer. The hold is released,
// the copy arrives, finds the lock free and takes it under the old id. Its not-after bounds when that can be; until
// then the reclaimer goes on releasing the id. It does so once at least: a copy may have come after the release and
// before the answer to that.
func (h *Hold) sweep() {
	if h.doubt > 0 {
		h.engine.sender.Reclaim(h.asOrphan(), h.Longest())
	}
}

// discard releases a hold that nobody ever got to see: it was passed to a waiter whose context had just ended.
func (h *Hold) discard() {
	if h.Claim() {
		_ = h.letGo(h.engine.releaseEnd())
	}
}
