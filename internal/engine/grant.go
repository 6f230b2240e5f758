package engine

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A release gives the lock to the first in the store's queue, and tells that waiter's client by a message. The message
// may be late, doubled or lost. It is relied on only
//
//   - for the waiter that it names: the store gives the lock to no other waiter by that grant, either;
//   - while that waiter waits by the id that it names, and no request of it is under way, or may be carried out unknown
//     to us;
//   - once;
//   - if the grant surely stands: by the latest time that this very server may show now (see serverclock.Bound);
//   - where nobody is waited for who must know of a hold before it is relied on (minimum replicas).
//
// In any other case the message is a hint, as all others are: the waiter asks, and is granted the lock by the answer.
// A waiter that relies on a message has it until the grant ends. Its first request makes the grant a hold
// like any other (see confirm.go).

// For example, B waits behind A, which is another process, with a round trip of 2 ms; a grant stands for 2 s:
//
//	     0 ms  A unlocks, and sends the release
//	     1 ms  the server names B in the lock's hash, and publishes the grant: from 1 ms to 2,001 ms by its clock
//	     2 ms  B hears it. By the answer to its last request, 300 ms ago, the server's clock shows 6 ms at most now;
//	           so the grant stands for 1,995 ms at least, and the hold is valid for 1.94 s from here
//	     2 ms  B's Lock returns; in the background its first request is sent
//	     4 ms  that is answered: from now on the hold is one of 30 s that is renewed, since 2 ms
//
// Had B asked, its Lock would have returned at 4 ms. Had the message been under way for 2.5 s, the grant would be over:
// the bound says 2,501 ms or more, and B asks. Had B unlocked at 3 ms, its release would be sent at once; the first
// request, which may come after it, then finds nothing and changes nothing.
//
// Why a grant is for one id. The store cannot know whether its message has arrived. If another waiter of B's process
// claimed the lock, gave it back, and C had it now, the message could still make B's first waiter hold it. So a claim
// by another id is refused, whatever process it comes from. The order in the store and here can differ, though: a
// waiter that stands second here may have been registered first. Then the two go on by one another's ids. The one
// that asks has no request under way at that moment, and what it knows of its earlier ones goes along with its id;
// the other one has at most a registration under way, which is noted for both.
//
// Who has left, and is named all the same. Whoever leaves its queue releases its id at once, and goes on until no
// request with that id can be carried out any more. The release and the grant may cross on their ways: then it is the
// release that finds the grant, and gives the lock to the next. Where that release is lost, the message is what has
// it sent again, sooner than the reclaimer would.

// granted notes of the waiter that a message names that it was granted the lock. It is woken by the message, if it
// asks. One that has left withdraws once more, so that the next in the store's queue need not wait until the grant
// ends.
func (e *Engine) granted(key string, g store.Grant) {
	if !e.table.noteGrant(key, g) {
		e.withdrawGone(g.ID)
	}
}

// withdrawGone withdraws an id that left its queue, once more: it was granted the lock all the same.
func (e *Engine) withdrawGone(id string) {
	if left, ok := e.gone.find(id); ok {
		e.sender.Reclaim(left.Orphan, left.lease)
	}
}

// A message may name a waiter that is not the one that asks here, or not yet: its process may still be waiting for the
// answer to its own release, which comes by another connection. So the grant is kept with the waiter, until it asks, is
// refused by a request that is younger, or leaves. A message that comes after such a refusal is not kept. A second copy
// replaces the first; both say the same.

// noteGrant reports that the waiter waits, or has the lock.
func (t *table) noteGrant(key string, g store.Grant) bool {
	p := t.lock(key)
	defer p.mu.Unlock()
	s := p.keys[key]
	for w := range s.waiters() {
		if w.ID == g.ID {
			if one := waiterOf(w); !one.refused.after(g) {
				one.grant = &g
			}
			return true
		}
	}
	return s.find(t.engine.numberOf(g.ID)) != nil
}

// rely makes the grant that the waiter was told of a hold. It returns nil if there is none, or it must not be
// relied on: then the waiter asks.
func (l *leader) rely(ctx context.Context) (*Hold, error) {
	e := l.engine
	if !l.Registers || l.once || l.lockSet != nil || l.doubt.any || ctx.Err() != nil {
		return nil, nil
	}
	g, ok := e.table.takeGrant(l.waiter)
	if !ok || !l.req.Kept || e.cfg.MinReplicas > 0 {
		return nil, nil
	}
	until, since, ok := e.sender.Until(g.Server, g.Made, g.End, hold.Tick)
	if !ok {
		return nil, nil
	}
	l.heard()
	h := e.newGranted(l.req, g, until, e.table.entering(l.waiter))
	c := e.pending.add(h)
	e.table.rely(l.waiter, h, g, since)
	if e.sender.Closed() || !e.sender.Spawn(func() { e.confirm(h, c, g.Fence) }) {
		e.pending.end(h, c)
		h.orphan() // Close may have looked for holds before this one was listed
		return nil, store.ErrUnsent
	}
	return h, nil
}

// takeGrant takes the grant of a waiter that is about to ask. If another one of its process was granted the lock, which
// stands behind it here, the two go on by one another's ids: the order inside a process is the process's. One that may
// have no place asks first, or the other one would be left without.
func (t *table) takeGrant(w *waiter) (g store.Grant, ok bool) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	if w.Look() != localqueue.Asking {
		return g, false
	}
	if w.grant == nil && w.Placed() {
		for one := range q.Waiters() {
			if waiterOf(one).grant != nil && one.Waits() {
				exchangeLocked(q, w, waiterOf(one))
				break
			}
		}
	}
	if w.grant == nil {
		return g, false
	}
	g, w.grant = *w.grant, nil
	return g, g.ID == w.ID
}

// A message can be lost, or come before the subscription stands, as in a process of which many callers come at once.
// Then the answer "busy" to the one that asks says who of its process was granted the lock. Without that the others
// would wait until the grant ends, and the process with them. Where an earlier request of the one that asks had no
// answer, its id is given up first: nobody else may go on by an id under which something may still be carried out.

// takesTurn has the waiter go on by the id of another one of its process, which Redis says was granted the lock: the
// message may be lost, and the lock is granted by that id only. It reports false if nobody waits by that id. One that
// has left withdraws once more. The other one does not get an id under which something may still be carried out.
func (l *leader) takesTurn(id string) bool {
	e := l.engine
	if e.table.waitsBy(l.waiter, id) == nil {
		e.withdrawGone(id)
		return false
	}
	l.renounce()
	other := e.table.exchange(l.waiter, id)
	if other != nil {
		e.register(other) // if its id is a new one
	}
	return other != nil
}

// waitsBy is the one that waits by an id behind w.
func (t *table) waitsBy(w *waiter, id string) *waiter {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return waitsByLocked(q, id)
}

func waitsByLocked(q *localqueue.Queue, id string) *waiter {
	for one := range q.Waiters() {
		if one.ID == id && one.Waits() {
			return waiterOf(one)
		}
	}
	return nil
}

// exchange has w and the one that waits by an id go on by one another's, if it still waits.
func (t *table) exchange(w *waiter, id string) (other *waiter) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	if other = waitsByLocked(q, id); other != nil {
		exchangeLocked(q, w, other)
	}
	return other
}

// exchangeLocked takes along what is known of the ids besides.
func exchangeLocked(q *localqueue.Queue, w, other *waiter) {
	q.Exchange(&w.Waiter, &other.Waiter)
	w.grant, other.grant = other.grant, w.grant
	w.denied, other.denied = other.denied, w.denied
	w.refused, other.refused = other.refused, w.refused
}

// rely lists the hold of a waiter that was told of its grant.
func (t *table) rely(w *waiter, h *Hold, g store.Grant, since time.Duration) {
	defer h.delist() // when the part is unlocked
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	if q.Followed(&w.Waiter) && w.req.Proto.Traits().Passes {
		h.lend(g.Spare)
	}
	p.winLocked(w, h)
	q.Stands(g.Next, since)
	p.tidy(w.key())
}

// refusal is the last answer "busy" to an id: a grant that was made before it does not stand any more, or the answer
// would have been another one.
type refusal struct {
	server string
	now    int64 // its time in µs; 0: there was none
}

// after reports that the refusal may be younger than a grant. The times of two servers say nothing of one another.
func (r refusal) after(g store.Grant) bool {
	return r.now != 0 && (r.server != g.Server || g.Made <= r.now)
}

// denied notes that a waiter was refused: grants of before stand no more, also those whose messages are yet to come.
// How long the answer took tells how long that to a first request may take.
func (t *table) denied(w *waiter, sent asked) {
	if !w.Registers {
		return
	}
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Took(t.engine.clock.Now() - sent.Start)
	w.refused = refusal{sent.reply.Server, sent.reply.Now}
	if w.grant != nil && w.refused.after(*w.grant) {
		w.grant = nil
	}
}

// newGranted makes the local side of a hold that a release granted.
func (e *Engine) newGranted(req Request, g store.Grant, until time.Duration, doubt int64) *Hold {
	h := &Hold{
		engine: e, proto: req.Proto, number: e.numberOf(g.ID), fence: g.Fence, doubt: doubt, byMessage: true,
	}
	h.Lease.Owner = h
	h.InitUntil(&e.holds, until, req.want(), req.Proto.Traits().Counts)
	return h
}

// noteGone notes an id by which nobody waits any more, nor will.
func (e *Engine) noteGone(w *waiter, id string) {
	if w.Registers {
		e.gone.add(w.req.Proto, id, w.req.Lease)
	}
}

// gone are the last ids that left their queues without a hold.
type gone struct {
	mu   sync.Mutex // guards all below
	ids  [64]departed
	next int
}

type departed struct {
	request.Orphan
	lease time.Duration
}

func (g *gone) add(p store.Protocol, id string, lease time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids[g.next] = departed{request.Orphan{Proto: p, ID: id}, lease}
	g.next = (g.next + 1) % len(g.ids)
}

func (g *gone) find(id string) (departed, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.ids {
		if one.ID == id {
			return one, true
		}
	}
	return departed{}, false
}
