package engine

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// expire is called by the watchdog, which will not look after the grant any more.
//
// Who may find that a grant is lost: the watchdog, whose timer fires shortly before validity ends, or to whom a renewal
// says "not there"; a count that finds no such hold; an unlock that comes too late; a caller that enters the
// hold again and looks at the clock; Break, in this process; and MaxHold. They may come together. Package hold decides
// which of them ends it, and only that one does what is here.
func (g *Grant) expire(cause error) {
	reason := hold.Expired
	if isGone(cause) {
		reason, cause = hold.Gone, behindGone(cause)
	}
	g.loseSoon(reason, cause)
}

// lose ends the grant without an unlock: its contexts end with the reason, the next in the queue may try, and, unless
// the store said itself that it is gone, it is released in the store. It does nothing if the grant had ended before.
// Between two Holds it ends the grant and nothing else.
func (g *Grant) lose(reason hold.Reason, cause error) {
	if rest := g.losing(reason, cause); rest != nil {
		rest()
	}
}

// loseSoon is lose for a goroutine that others wait for: the grant is over at once, the rest follows.
func (g *Grant) loseSoon(reason hold.Reason, cause error) {
	if rest := g.losing(reason, cause); rest != nil {
		g.engine().ender.Add(rest)
	}
}

// losing makes the grant be over and returns what is left to do then; nil if it had ended before.
//
// What is left is done in this order. The watchdog forgets the grant. The contexts end: from then on no caller
// thinks that it holds. Only then is the store asked to release what may be left there, since another client is granted
// the lock as soon as that is done. Then the grant leaves the table, so that the next of this process may ask, and
// at last observers are told. If the grant is not taken off before, callers of this process wait a little longer
// than they must; taken off too early, they could be granted the lock while the old context still goes on.
//
// An owner that unlocks before that has ended its context itself, and takes the grant off (part): its own TryLock that
// follows would otherwise be told that another has the lock.
func (g *Grant) losing(reason hold.Reason, cause error) (rest func()) {
	if g.Over() { // which saves making the error
		return nil
	}
	return g.ending(reason, g.engine().lostError(g.proto, reason, cause))
}

// ending is losing with the error of the loss.
func (g *Grant) ending(reason hold.Reason, err error) (rest func()) {
	e := g.engine()
	ended, ok := g.End(hold.Lost, err)
	if !ok {
		return nil
	}
	return func() {
		e.watchdog.Lose(&g.Lease)
		ended.Contexts()
		g.forfeit(reason) // only now, when no context says that it is held
		g.key.drop(g)
		for range ended.Losers {
			e.events.lost(err)
		}
		e.events.ended(ended.Owners, err)
	}
}

// forfeit has the store release a lost grant, should it be there still. With Expired, its lease in the store ends by
// itself a moment later, or after the grace of its last Hold: until the validity is over the work may take to stop,
// and nothing is sent. The release matters where renewals were carried out and only their answers were lost. With
// MaxHold the lease goes on, and waiters of other processes would wait for all of it. With Gone there is nothing,
// except the places in a fair lock's queue of those that it was passed to, and what a late copy of the acquisition may
// still do, which matters where no lease of its own would end it.
func (g *Grant) forfeit(reason hold.Reason) {
	sender := g.engine().sender
	switch reason {
	case hold.Expired:
		// The wheel rounds down: a caller that looks at ValidUntil may rely on the hold for a tick more.
		sender.Disown(g.disowned(g.Lease.ValidUntil() - g.engine().clock.Now()))
	case hold.MaxHold:
		sender.Disown(g.disowned(0))
	case hold.Gone:
		g.engine().leavePlaces(g)
		if g.doubt > 0 && g.proto.Traits().Lasts {
			sender.Disown(g.disowned(0))
		}
	}
}

// disown ends a grant whose Hold nobody ever got to see and that its client, which is closing, leaves to the ledger.
// Close may have found it on the table and ended it first; then nothing is left to do here.
func (g *Grant) disown() {
	ended, ok := g.End(hold.Closed, g.engine().refuse(g.proto))
	if !ok {
		return
	}
	g.engine().watchdog.Stop(&g.Lease)
	ended.Contexts()
	g.engine().events.ended(ended.Owners, ended.Cause)
	g.engine().sender.Disown(g.disowned(0))
	g.key.drop(g)
}

// disowned is the grant as the ledger takes it over, not to be released for a time.
func (g *Grant) disowned(wait time.Duration) request.Disowned {
	return request.Disowned{Proto: g.parting(), ID: g.id, Lease: g.Longest(), Late: g.doubt, Wait: wait}
}

func isGone(err error) bool { return errors.Is(err, watchdog.ErrGone) }

// behindGone is what an error says besides that a hold is gone, which is the reason of its loss.
func behindGone(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return store.ErrConflict
	}
	return nil
}
