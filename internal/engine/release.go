package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

var background = context.Background()

// by is a context under which nothing takes longer than until end, however many connections have to be made.
func (e *Engine) by(end time.Duration) context.Context {
	left := end - e.clock.Now()
	return e.store.WithinAll(background, left, left)
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
// come. The lock is retained for a round trip longer than it need be, at most.
//
// A hold that nobody ever got to see is released at once: the job did not run.
func (g *Grant) retainFor(d time.Duration) {
	if d > 0 {
		g.RetainUntil(g.engine().store.Instant(g.proto.Key(), d))
	}
}

// parting is the protocol by which the grant is released, by an unlock, by Close or by the ledger.
func (g *Grant) parting() store.Protocol {
	p := g.proto
	if served := g.Served(); len(served) > 0 {
		p = p.Serving(served)
	}
	if until := g.RetainedUntil(); until > 0 {
		return p.Retaining(until, g.engine().newID())
	}
	return p
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

// sendRelease releases a grant that was retired, and whose last Hold began at an instant.
func (e *Engine) sendRelease(g *Grant, last, end time.Duration, runOver, certain bool) error {
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

// runEnd is what is known of a release that ends a run of turns; the zero runEnd is that of one which does not.
type runEnd struct {
	over      bool
	heard     store.Heard // what had been heard of the key before the release was sent
	receivers int64       // that its message reached
	others    int         // how many other processes that is
	asked     bool        // one of them has said that it waits
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
func (e *Engine) takeBack(req Request, id string) {
	_, err := e.sender.Release(background, req.Proto, id, e.clock.Now()+e.sender.Limit(e.cfg.Lease))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		e.sender.Disown(request.Disowned{Proto: req.Proto, ID: id, Lease: req.Lease})
	}
}
