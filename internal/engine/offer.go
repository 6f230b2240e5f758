package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// offer picks the waiter that h is to be handed to: the first in the queue, if nothing but h is in its way,
// the run of hand-offs may go on, and h is not suspected to be gone. runOver reports that only the run was in the way.
func (t *table) offer(h *Hold) (w *waiter, runOver bool) {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	if s == nil || s.queue == nil || h.suspect || !s.lists(h) {
		return nil, false
	}
	now := t.engine.clock.Now()
	if h.portion != nil {
		to, runOver := s.queue.OfferPortion(h.proto.Mode(), h.portion, now)
		return waiterOf(to), runOver
	}
	to, runOver := s.queue.Offer(h.proto.Mode(), now)
	return waiterOf(to), runOver
}

// hasHeir reports that a waiter of this process could be handed h.
func (t *table) hasHeir(h *Hold) bool {
	p := t.lock(h.proto.Key())
	defer p.mu.Unlock()
	s := p.keys[h.proto.Key()]
	return s != nil && s.queue != nil && s.queue.Heir(h.proto.Mode()) != nil
}

// grant settles a hand-off that Redis carried out. It reports false if the target left meanwhile: the
// hold is listed all the same, and the caller passes it on.
func (t *table) grant(from *Hold, w *waiter, h *Hold) bool {
	defer h.delist() // when the part is unlocked
	key := h.proto.Key()
	p := t.lock(key)
	defer p.mu.Unlock()
	s := p.state(key)
	q := p.queue(s)
	s.unlist(from)
	p.list(s, h)
	if from.suspect && h.number == from.number { // which may have been found out only now
		h.suspect = true
		t.engine.watchdog.Hurry(&h.Lease)
	}
	granted, now := false, t.engine.clock.Now()
	if h.portion != nil {
		granted = q.GrantPortion(&w.Waiter, h.portion, now)
	} else {
		granted = q.Grant(&w.Waiter, h.number == from.number, now)
	}
	if granted {
		w.hold = h
	}
	return granted
}

// recall takes an offer back: the target waits as before. A new id is given to it if a late
// copy of the hand-off may still be carried out under the old one.
func (t *table) recall(w *waiter, id string) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Recall(&w.Waiter, id)
}

// reject ends the wait of a hand-off's target with an error.
func (t *table) reject(w *waiter, err error) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Reject(&w.Waiter, err)
}

// share ends the wait of everybody who came before an instant.
func (t *table) share(proto store.Protocol, asked time.Duration, h *Hold) {
	p, q := t.queue(proto.Key())
	defer p.mu.Unlock()
	q.Share(asked, func(w *localqueue.Waiter) { waiterOf(w).hold = h })
	p.tidy(proto.Key())
}

// tookTrip notes how long a request for w's key took, and reports whether others stand behind w.
func (t *table) tookTrip(w *waiter, trip time.Duration) (followed bool) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Took(trip)
	return q.Followed(&w.Waiter)
}
