package engine

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A hold that a message granted is valid for as long as the grant stands, until the store has made it a hold like any
// other. Nothing that depends on that is done before: it passes to nobody, no step of its levels is sent, and it is
// not exported. Its owner may use it, nest in it and unlock it.

// Three things can be first: the answer to that request, the owner's unlock, and the end of the grant.
//
//	the answer "done"   the validity is that of a lease from the sending of the request on, and the watchdog renews it
//	the answer "gone"   the hold is lost, and its contexts end
//	the unlock          the hold is released. If a waiter of this process stands next, the unlock waits for the
//	                    answer, as it would have for that to a claim; and the hold passes to that one by memory
//	the end             the hold is lost as one whose renewals were not answered; its id is released
//
// The validity never goes beyond what is sure, so it does not matter which of them comes first for anybody else. A
// hold that ended while the request was under way has it carried out by the store or not: a release by the same id
// was sent or will be, and whichever of the two comes last finds nothing of the other.
//
// For example, a grant stands for 2 s, and the connection breaks as it arrives. The hold is valid for 1.94 s. The
// request is sent again after 10, 20, 40 ms and so on. If the server answers after a second, the owner never learns
// of it. If it does not, the owner's context ends 60 ms before anybody else can have the lock.

// confirmation is the first request of such a hold.
type confirmation struct {
	done  chan struct{} // closed when there was an answer, or none is waited for any more
	until time.Duration // what the answer says of the hold's validity, 0 for none; written before done is closed
}

// unconfirmed are the holds of which the first request was not answered. Hardly a hold ever is one, so this is not
// kept with the holds.
type unconfirmed struct {
	mu    sync.Mutex // guards holds
	holds map[*Hold]*confirmation
}

func (u *unconfirmed) add(h *Hold) *confirmation {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.holds == nil {
		u.holds = make(map[*Hold]*confirmation)
	}
	c := &confirmation{done: make(chan struct{})}
	u.holds[h] = c
	return c
}

func (u *unconfirmed) end(h *Hold, c *confirmation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.holds, h)
	close(c.done)
}

// of is the confirmation of a hold; nil if it was answered, or there is nothing to confirm.
func (u *unconfirmed) of(h *Hold) *confirmation {
	if !h.byMessage {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.holds[h]
}

// confirmedLocked reports that the store knows the hold as one. The mutex of its part is held.
func (h *Hold) confirmedLocked() bool { return !h.byMessage || h.stands }

// confirmed reports the same.
func (t *table) confirmed(h *Hold) bool {
	if !h.byMessage {
		return true
	}
	defer t.lock(h.proto.Key()).mu.Unlock()
	return h.stands
}

// An owner that is done before the request was sent needs it no more, unless somebody here is to have the hold next: a
// short section then costs a release and nothing else.

// confirm sends the first request of a hold that a message told of, until it is answered, or the hold is over. The
// answer "gone" is a loss: the grant ended, or somebody broke it. The grant's token tells it from a second grant to
// the same id, before which somebody else may have held the lock.
func (e *Engine) confirm(h *Hold, c *confirmation, fence int64) {
	defer e.pending.end(h, c)
	var reply store.ConfirmReply
	var err error
	var sent time.Duration
	lease := h.Longest()
	if !e.sender.Retry(background, h.Lease.ValidUntil(), func() request.Next {
		if h.Over() && !e.table.awaitsConfirmation(h) {
			return request.GiveUp
		}
		sent = e.clock.Now()
		err = request.Exchange(crash.Confirm, func() (err error) {
			ctx := e.sender.Within(background, e.sender.Limit(lease))
			reply, err = h.proto.Confirm(ctx, h.id(), lease, fence)
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
		return // it ends with the grant
	}
	if err != nil || reply.Status != store.Done {
		if h.Live() {
			h.lose(hold.Gone, err)
			e.sender.Reclaim(h.asOrphan(), lease) // it may have a place in the queue
		}
		return
	}
	c.until = h.Confirmed(sent)
	e.table.confirm(h, reply.Next, sent)
}

// confirm notes that the store knows a hold, and what it says of those that stand next.
func (t *table) confirm(h *Hold, next int64, sent time.Duration) {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	h.stands = true
	if s := p.keys[h.proto.Key()]; s != nil && s.queue != nil && s.lists(h) {
		s.queue.Took(t.engine.clock.Now() - sent)
		s.queue.Stands(next, sent)
	}
}

// What waits for it: an inner Lock that asks for more than the hold has, the unlock of one, the count of levels, and an
// export. All of them would name the id in a request that may find a later grant to it, if this one has ended.

// awaitConfirmed waits until the store knows the hold, or it will not, or ctx ends. It reports whether it does.
func (h *Hold) awaitConfirmed(ctx context.Context) bool {
	if c := h.engine.pending.of(h); c != nil {
		select {
		case <-c.done:
		case <-ctx.Done():
		case <-h.engine.sender.Closing():
		}
	}
	return h.engine.table.confirmed(h)
}

// The wait is bounded as that for a registration is (heir_registering.go): two round trips, or a millisecond if that
// is more. Nobody's context says meanwhile that the lock is held.

// confirmSoon waits for the answer to a hold's first request, if others of its process can have the hold then: it is
// nearer than one to a release. It returns until when the hold can be relied on by that answer.
func (e *Engine) confirmSoon(h *Hold, end time.Duration) (sure time.Duration) {
	c := e.pending.of(h)
	if c == nil {
		return 0
	}
	most, ok := e.table.hasNext(h)
	if !ok {
		return 0
	}
	timer := time.NewTimer(min(most, end-e.clock.Now()))
	defer timer.Stop()
	select {
	case <-c.done:
		return c.until
	case <-timer.C:
	case <-e.sender.Closing():
	}
	return 0
}

// awaitsConfirmation reports that somebody has h next if it is confirmed.
func (t *table) awaitsConfirmation(h *Hold) bool {
	_, ok := t.hasNext(h)
	return ok
}

// hasNext reports that h may pass to a waiter of this process when it is confirmed, and how long it is kept for that.
func (t *table) hasNext(h *Hold) (most time.Duration, ok bool) {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	if s == nil || s.queue == nil || h.suspect || h.spare == 0 || !s.lists(h) {
		return 0, false
	}
	now := t.engine.clock.Now()
	w, _ := s.queue.Next(h.proto.Mode(), h.portion, now)
	if w == nil {
		w, _, _ = s.queue.HeirRegistering(h.proto.Mode(), now)
	}
	return s.queue.UnlockWait(), w != nil
}
