package engine

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// expire is called by the watchdog, which will not look after the hold any more.
//
// Who may find that a hold is lost: the watchdog, whose timer fires shortly before validity ends, or to whom a renewal
// says "not there"; a count that finds no such hold; an unlock that comes too late; a caller that enters the
// hold again and looks at the clock; Break, in this process; and MaxHold. They may come together. Package hold decides
// which of them ends it, and only that one does what is here.
func (h *Hold) expire(cause error) {
	reason := hold.Expired
	if isGone(cause) {
		reason, cause = hold.Gone, behindGone(cause)
	}
	h.loseSoon(reason, cause)
}

// lose ends the hold without its owner's doing: its contexts end with the reason, the next in the queue
// may try, and, unless Redis said itself that it is gone, it is released in Redis. It does nothing if the hold had
// ended before.
func (h *Hold) lose(reason hold.Reason, cause error) {
	if rest := h.losing(reason, cause); rest != nil {
		rest()
	}
}

// loseSoon is lose for a goroutine that others wait for: the hold is over at once, the rest follows.
func (h *Hold) loseSoon(reason hold.Reason, cause error) {
	if rest := h.losing(reason, cause); rest != nil {
		h.engine.ender.Add(rest)
	}
}

// losing makes the hold be over and returns what is left to do then; nil if it had ended before.
//
// What is left is done in this order. The watchdog forgets the hold. The contexts end: from then on no caller
// thinks that it holds. Only then is Redis asked to release what may be left there, since another client is granted
// the lock as soon as that is done. Then the hold leaves the table, so that the next of this process may ask, and
// at last observers are told. If the hold is not taken off before, callers of this process wait a little longer
// than they must; taken off too early, they could be granted the lock while the old context still goes on.
func (h *Hold) losing(reason hold.Reason, cause error) (rest func()) {
	if !h.Live() { // which saves making the error
		return nil
	}
	e := h.engine
	err := e.lostError(h.proto, reason, cause)
	ended, ok := h.End(hold.Lost, nil, err)
	if !ok {
		return nil
	}
	return func() {
		e.watchdog.Lose(&h.Lease, err)
		ended.Contexts()
		h.forfeit(reason) // only now, when no context says that it is held
		e.table.drop(h)
		for range ended.Losers {
			e.events.lost(err)
		}
		e.events.ended(ended.Owners, err)
	}
}

// forfeit has Redis release a lost hold, should it be there still. With Expired, its lease in Redis ends by itself a
// moment later; releasing it matters where renewals were carried out and only their answers were lost. With MaxHold the
// lease goes on, and waiters of other processes would wait for all of it. With Gone there is nothing, except the places
// in a fair lock's queue of those that were served under this hold.
func (h *Hold) forfeit(reason hold.Reason) {
	sender := h.engine.sender
	switch reason {
	case hold.Expired:
		// The wheel rounds down: a caller that looks at ValidUntil may rely on the hold for a tick more.
		sender.ReclaimFrom(h.Lease.ValidUntil(), h.asOrphan(), h.Longest())
	case hold.MaxHold:
		sender.Reclaim(h.asOrphan(), h.Longest())
	case hold.Gone:
		h.engine.leavePlaces(h)
	}
}

// orphan ends a hold that nobody ever got to see and that its client, which is closing, leaves to the
// reclaimer. Close may have found it on the table and ended it first; then nothing is left to do here.
func (h *Hold) orphan() {
	ended, ok := h.End(hold.Closed, nil, h.engine.refuse(h.proto))
	if !ok {
		return
	}
	h.engine.watchdog.Stop(&h.Lease)
	ended.Contexts()
	h.engine.events.ended(ended.Owners, ended.Cause)
	h.engine.sender.Reclaim(h.asOrphan(), h.Longest())
	h.engine.table.drop(h)
}

// asOrphan is the hold as the reclaimer takes it over.
func (h *Hold) asOrphan() request.Orphan {
	return request.Orphan{Proto: h.parting(), ID: h.id(), NotAfter: h.doubt}
}

func isGone(err error) bool { return errors.Is(err, watchdog.ErrGone) }

// behindGone is what an error says besides that a hold is gone, which is the reason of its loss.
func behindGone(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return store.ErrConflict
	}
	return nil
}
