package engine

import (
	"errors"
	"math"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Unlock frees a level, once, and with the last level the lock. It works from any goroutine and
// after every context ended; it is bounded by the release timeout.
func Unlock(l *hold.Level) error { return unlockBy(l, releaseEnd) }

// unlockBy is Unlock for which the store is asked until an end, which depends on when the last Hold ended.
func unlockBy(l *hold.Level, end func(e *Engine, at time.Duration) time.Duration) error {
	g := grantOf(l.Hold())
	open := g.engine().sender.Begin() // before the Hold ends, whose grant Close then leaves to this call
	if open {
		defer g.engine().sender.Done()
	}
	at, last, err := g.part(l, open)
	if last {
		return g.finish(l, at, end(g.engine(), at))
	}
	return err
}

// releaseEnd is until when the store is asked to release what has ended at an instant.
func releaseEnd(e *Engine, at time.Duration) time.Duration { return at + e.cfg.ReleaseTimeout }

// part ends the level's context, and takes the level out of its Hold. Last says that it was the last one of its grant
// that was taken out, at an instant: the caller passes the grant on or releases it.
//
// What an unlock does, by what it finds:
//
//	not the last level to be taken out        nothing is sent; the count follows later
//	the last level to be taken out            the grant passes in memory, or is released
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
	parted := l.Part(open)
	for parted.Outcome == hold.Overdue {
		l.Hold().EndIfOverdue()
		parted = l.Part(open)
	}
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
		g.lost(hold.Expired, parted.Ended, l.Owner())
	}
	at = parted.At
	if l.End(parted.Ended.Cause) {
		at = e.clock.Now()
	}
	out := l.Out()
	switch {
	case out.Last:
		return at, true, nil
	case out.Vacant:
		g.key.drop(g)
	}
	if out.Done {
		Ended(l.Owner(), err)
	}
	return 0, false, err
}

// notHeld makes the error of a call for which the Hold, or a level of it, is no more.
func (g *Grant) notHeld() error { return g.engine().notHeld(g.proto) }

// free lets a grant go whose last context was that of a Hold which a limit has ended: all others were unlocked while it
// was ended. Close finds such a grant between two Holds, and leaves it to what is here.
func (g *Grant) free(last *hold.Hold) {
	e := g.engine()
	pass := func() {
		now := e.clock.Now()
		_ = e.passOn(g, last, now, releaseEnd(e, now))
	}
	if e.sender.Spawn(pass) {
		return
	}
	if g.retire() {
		e.sender.Disown(g.disowned(0))
		g.key.drop(g)
	}
}

// finish lets a grant go whose last level is out since an instant, until an end, and tells the observer.
func (g *Grant) finish(l *hold.Level, at, end time.Duration) error {
	_ = crash.At(crash.Unlock)
	err := g.engine().passOn(g, l.Hold(), at, end)
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
		e := g.engine()
		now := e.clock.Now()
		_ = e.passOn(g, h, now, releaseEnd(e, now))
	}
}

// passOn keeps a grant whose last Hold is over since an instant for the next caller, gives it to the next waiter of
// this process, or releases it in the store, for which that is asked until end.
//
// A grant that is passed costs no request. What the store knows stays what it is, id and lease, and the next caller has
// it by memory alone: by a Hold and a context of its own, and with the next of the fencing tokens that the acquisition
// reserved. The contexts of the Hold before have ended by then, so that no two contexts say that it is held.
func (e *Engine) passOn(g *Grant, last *hold.Hold, at, end time.Duration) error {
	if e.sender.Closed() {
		return e.releaseIn(g, last, end, false, true)
	}
	if !g.key.rest(g, at) {
		if next, runOver := g.key.pass(g, at); next == nil {
			return e.releaseIn(g, last, end, runOver, true)
		}
	}
	if e.sender.Closed() {
		g.disown() // Close may have looked at this grant when it was between two Holds
	}
	return nil
}

// pass begins a Hold of g for the waiter that is next, if that one can have the grant as it is. Who that is, whether it
// can, and that it has it are one step: the waiter leaves before, and another one is next, or it leaves after, with a
// Hold that it lets go. RunOver reports that other processes have their turn first: the run has
// been long enough, memory is not enough, or nobody of this process waits for what others cannot have meanwhile.
//
// The instant is that at which g's last Hold ended. Should the process have stood still since, the caller finds the
// validity over when its Hold is attached.
func (k *Key) pass(g *Grant, at time.Duration) (next *hold.Hold, runOver bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.suspect || !k.listsLocked(g) {
		return nil, false
	}
	if k.queue == nil || k.queue.Empty() {
		return nil, g.portion != nil || g.proto.Excludes(g.proto.Mode())
	}
	to, runOver := k.queue.Next(g.proto.Mode(), g.portion, at)
	if to == nil {
		return nil, runOver
	}
	w := waiterOf(to)
	if next = g.successorLocked(w, at); next == nil {
		return nil, g.portion == nil
	}
	k.queue.Grant(to, g.portion, at)
	w.hold = next
	return next, false
}

// successorLocked is g's next Hold, for a waiter to which the store would grant the same. It is nil if no token is
// left, of those that have any, or if the store has to be asked (see [hold.Grant.PassToLocked]).
func (g *Grant) successorLocked(w *waiter, at time.Duration) *hold.Hold {
	fence := g.fence + 1
	if g.portion != nil {
		fence = g.fence
	} else if g.spare == 0 {
		return nil
	}
	if !w.req.Proto.Traits().Passes {
		return nil
	}
	place := ""
	if w.Registers() {
		place = w.ID
	}
	next := g.PassToLocked(&w.req.Want, at, fence, place)
	if next == nil {
		return nil
	}
	if g.portion == nil {
		g.fence, g.spare = fence, g.spare-1
	}
	if g.kept != nil {
		g.kept.channel = nil // that was the last Hold's
	}
	if len(g.ServedLocked()) == 1 && place != "" {
		g.watchTurns(next)
	}
	return next
}

// hasHeir reports that a waiter of this process could be given g.
func (k *Key) hasHeir(g *Grant) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queue != nil && k.queue.Heir(g.proto.Mode()) != nil
}

// lendLocked sets spare tokens apart. What the store just granted has the newest token; where others of this process
// wait behind its waiter, or may soon, its first Hold takes the lowest of the spare ones instead, and the rest are for
// them. How many there are stands in an answer, which may be any number: each that is lent lies at or below the newest.
func (g *Grant) lendLocked(h *hold.Hold, spare int64) {
	spare = min(max(spare, 0), math.MaxInt16)
	g.fence, g.spare = g.fence-spare, int16(spare)
	h.Fence = g.fence
}

// retainFor has the release retain the lock for a time from now.
//
// A request with a MinHold has the lock retained in the store for that long, though its owner is done with it earlier:
// a job that takes a second must not run again on a machine whose clock is two seconds behind. Its unlock ends the
// contexts as ever; then the release gives the lock an id that is nobody's, and a lease that is what is left.
//
// The end is an instant of the server's clock, and not a duration. So a release that is sent again, comes late, or is
// left to the ledger retains the lock no longer; when the time is over, the release frees it. What counts is when the
// server granted the hold, and that was not after the latest time that its clock may have shown when the answer had
// come. The lock is retained for a round trip longer than it need be, at most. Where the clock is set back in between,
// the release retains it for the whole time once more, and not for the step.
//
// A hold that nobody ever got to see is released at once: the job did not run.
func (g *Grant) retainFor(d time.Duration) {
	if d > 0 {
		g.Retain(hold.Retention{Until: g.engine().store.Instant(g.proto.Key(), d), Most: d})
	}
}

// parting is the protocol by which the grant is released, by an unlock, by Close or by the ledger.
func (g *Grant) parting() store.Protocol {
	p := g.proto
	if served := g.Served(); len(served) > 0 {
		p = p.Serving(served)
	}
	if r := g.Retained(); r.Until > 0 {
		return p.Retaining(r.Until, r.Most, g.engine().newID())
	}
	return p
}

// runEnd is what is known of a release that ends a run of turns; the zero runEnd is that of one which does not.
type runEnd struct {
	over      bool
	heard     store.Heard // what had been heard of the key before the release was sent
	receivers int64       // that its message reached
	others    int         // how many other processes that is
	asked     bool        // one of them has said that it waits
}

// releaseIn releases a grant in the store, and lets the next in the queue ask. "Not there" is a loss if the first
// request says so; after a request whose reply was lost it is that request's work.
//
// It has no context but the release timeout: the caller's has ended, or may end, and the lock is to be released all the
// same. If the store does not answer in that time, the ledger goes on, for as long as the store may keep the hold, and
// the caller is told that the release is not certain. The next of this process asks by an id of its own, and waits in
// the store until the old id is gone.
//
// What was heard on the channel is noted before the request is sent, and what it reached is known from its answer. In
// between, releases of other processes may arrive, which pay for a part of the debt that this one is about to make; so
// the count begins before the request.
//
// A grant that was lost since its last Hold ended is not released: what found that has cleaned up.
func (e *Engine) releaseIn(g *Grant, last *hold.Hold, end time.Duration, runOver, certain bool) error {
	if !g.retire() {
		return nil
	}
	defer g.sweep()
	return e.sendRelease(g, last.Start(), end, runOver, certain)
}

// retire ends a grant that is to be released.
func (g *Grant) retire() bool {
	_, ok := g.End(hold.Released, nil)
	if ok {
		g.retired()
	}
	return ok
}

// retired ends what goes on for a grant that is over and about to be released: its renewal, and what is known of its
// acquisition. If no copy of that can come from now on, what one did is released by the release.
func (g *Grant) retired() {
	e := g.engine()
	e.watchdog.Stop(&g.Lease)
	if g.doubt > 0 && e.store.Late(g.proto.Key(), g.doubt) == 0 {
		g.doubt = 0
	}
}

// sendRelease releases a grant that was retired, and whose last Hold began at an instant. A grant that must not be
// released yet is left to the ledger.
func (e *Engine) sendRelease(g *Grant, last, end time.Duration, runOver, certain bool) error {
	if g.Stays() > 0 {
		e.sender.Disown(g.disowned(0))
		g.key.drop(g)
		return nil
	}
	var ends runEnd
	if runOver {
		ends = e.endRun(g)
	}
	parting := g.parting()
	var reply store.ReleaseReply
	var err error
	if !e.sender.Retry(background, end, func() request.Next {
		reply, err = e.sender.Release(background, parting, g.id, end)
		switch store.FaultOf(err) {
		case store.FaultNone, store.FaultConflict:
			return request.Settled
		case store.FaultAmbiguous:
			certain = false
		case store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		until := e.sender.Disown(request.Disowned{
			Proto: parting, ID: g.id, Lease: g.Longest(), Silent: e.clock.Now() - (end - e.cfg.ReleaseTimeout),
		})
		g.key.drop(g)
		return e.unconfirmed(g.proto, until, err)
	}
	if err != nil || certain && reply.Status != store.Done {
		lost := e.lostError(g.proto, hold.Gone, err)
		g.key.drop(g)
		e.events.lost(lost)
		return lost
	}
	g.key.released(g, last, ends.reached(e, g, reply.Receivers))
	return nil
}

// unconfirmed makes the error of an unlock of which the store said nothing, or that it refused: the hold is over here,
// and in the store at an instant, at the latest, unless that is 0. It is no "unavailable", which a caller would answer
// by doing its work once more.
func (e *Engine) unconfirmed(of store.Rules, until time.Duration, err error) error {
	var at time.Time
	if until != 0 {
		at = e.clock.Wall(until)
	}
	return e.cfg.Errors.Release(of, at, ours(err))
}

// endRun begins the end of a run: the release of g is about to be sent. With a queue in the store, the store says whose
// turn it is then.
func (e *Engine) endRun(g *Grant) runEnd {
	if g.proto.Traits().Queues {
		return runEnd{}
	}
	return runEnd{over: true, heard: e.store.Heard(g.proto.Channel())}
}

// reached is r with whom the message of g's release reached, as it was answered.
func (r runEnd) reached(e *Engine, g *Grant, receivers int64) runEnd {
	if r.over {
		r.receivers, r.others = receivers, e.store.Others(g.proto.Channel(), receivers)
	}
	return r
}

// wanted is r where another process has said that it waits for the key: it is owed a turn, though it may not listen
// yet.
func (r runEnd) wanted() runEnd {
	if r.over {
		r.receivers, r.others, r.asked = max(r.receivers, 1), max(r.others, 1), true
	}
	return r
}

// unheard reports that nothing says that another process wants the key. A store that cannot know (a cluster without
// sharded messages) assumes one all the same; but where another one did, this process has had to wait for it within
// the last second, and listens, or the message reached a receiver.
func (r runEnd) unheard() bool { return r.receivers <= 0 && r.heard == (store.Heard{}) }

// takeBack releases once, without waiting for more than one command's time: the ledger is for what
// that does not settle.
//
// A grant that too few replicas confirmed stands on the primary all the same. Its caller is told that it does not
// hold, so nobody will unlock it.
func (e *Engine) takeBack(req *Request, id string) {
	_, err := e.sender.Release(background, req.Proto, id, e.clock.Now()+e.sender.Limit(e.cfg.Lease))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		e.sender.Disown(request.Disowned{Proto: req.Proto, ID: id, Lease: req.Lease})
	}
}
