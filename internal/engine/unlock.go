package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
)

// Unlock frees a level, once, and with the last level the lock. It works from any goroutine and
// after every context ended; it is bounded by the release timeout.
func Unlock(l *hold.Level) error {
	g := grantOf(l.Hold())
	open := g.engine().sender.Begin() // before the Hold ends, whose grant Close then leaves to this call
	if open {
		defer g.engine().sender.Done()
	}
	at, last, err := g.part(l, open)
	if last {
		return g.finish(l, at)
	}
	return err
}

// releaseEnd is until when the store is asked to release something.
func (e *Engine) releaseEnd() time.Duration { return e.clock.Now() + e.cfg.ReleaseTimeout }

// part takes the level out of its Hold, and ends its context. Last says that it was the last one of its grant, which
// the caller passes on or releases; at, when its Hold ended.
//
// What an unlock does, by what it finds:
//
//	not the last level                        nothing is sent; the count follows later
//	the last level                            contexts end; then the grant passes in memory, or is released
//	the Hold ended before                     nothing is sent; what it ended with is returned. With its last level
//	                                          the grant leaves the table, if what ended it has not come to that yet
//	the validity turns out to be over         the loss is returned, and the id is disowned
//	unlocked before, or the client is closed  an error, and nothing else
//
// A level is unlocked once, by the first call; the unlock function of a Lock call may be called by any goroutine and
// after any context has ended. What it returns is about the time until then: nil means that the lock was held until its
// contexts ended, and that it was passed on, or that the store confirmed the release. After a pass in memory nobody has
// asked the store, so that nil does not prove that the key stood there at that moment; if it was gone, the next caller
// that holds learns of it.
//
// For example, a process is stopped by the operating system in the middle of a section, for longer than its lease. When
// it goes on, the first thing that runs may be the owner's unlock, before the wheel has noticed the time. Its contexts
// have not ended yet, and the store may even still have the key, if the clock of the two differ. The unlock compares
// the validity with the clock, tells the loss, and sends no release that could be taken for a success.
func (g *Grant) part(l *hold.Level, open bool) (at time.Duration, last bool, err error) {
	e := g.engine()
	if l.Hold().Nested() { // it leaves the lock to others, who are to learn as well
		g.expireIfOver()
	}
	parted := l.Part(open)
	switch parted.Outcome {
	case hold.NotHeld:
		return 0, false, g.notHeld()
	case hold.Refused:
		err = e.refuse(g.proto)
		l.End(err)
		return 0, false, err
	case hold.Over:
		err = parted.Ended.Cause
	case hold.FoundLost:
		err = parted.Ended.Cause
		g.foundLost(parted.Ended)
	}
	l.End(parted.Ended.Cause)
	if parted.Outcome == hold.Last {
		return parted.At, true, nil
	}
	if parted.Vacant {
		g.key.drop(g)
	}
	if parted.Done {
		Ended(l.Owner(), err)
	}
	return 0, false, err
}

// foundLost does what is left to do for a grant that an unlock found lost.
func (g *Grant) foundLost(ended hold.Ended) {
	e := g.engine()
	e.watchdog.Lose(&g.Lease)
	ended.Contexts()
	e.sender.Disown(g.disowned(0))
	g.key.drop(g)
	for range ended.Losers {
		e.events.lost(ended.Cause)
	}
}

// notHeld makes the error of a call for which the Hold, or a level of it, is no more.
func (g *Grant) notHeld() error { return g.engine().notHeld(g.proto) }

// finish lets a grant go whose last level is out since an instant, and tells the observer.
func (g *Grant) finish(l *hold.Level, at time.Duration) error {
	_ = crash.At(crash.Unlock)
	err := g.engine().passOn(g, l.Hold(), at)
	Ended(l.Owner(), err)
	return err
}

// sweep has released again what a late copy of the acquisition may still take. For example: the acquisition was sent
// twice because its first answer was lost, and the first copy still stands in a proxy's buffer. The lock is released,
// the copy arrives, finds the lock free and takes it under the old id. Its receipt bounds when that can be; until
// then the ledger goes on releasing the id. It does so once at least: a copy may have come after the release and
// before the answer to that.
func (g *Grant) sweep() {
	if g.doubt > 0 {
		g.engine().sender.Disown(g.disowned(0))
	}
}

// discard lets go a Hold that nobody ever got to see: it was passed to a waiter whose context had just ended.
func (g *Grant) discard(h *hold.Hold) {
	if g.Claim() {
		_ = crash.At(crash.Unlock)
		_ = g.engine().passOn(g, h, g.engine().clock.Now())
	}
}
