package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// enqueueBatch is how many waiters one script registers: enough that a crowd needs few scripts, and few enough that
// none of them keeps Redis from its other clients for more than a fraction of a millisecond.
const enqueueBatch = 100

// register sees to it that a waiter that stands behind others of its process gets its place in Redis's
// queue, if the lock has one: the order between processes is that of arrival, and not of coming to the head
// here. One goroutine a name registers all who came meanwhile, in their order.
func (e *Engine) register(w *waiter) {
	if !w.req.Proto.Traits().Queues || !e.table.beginRegistrar(w) {
		return
	}
	if !e.sender.Spawn(func() { e.registerAll(w) }) {
		e.table.endRegistrar(w)
	}
}

// registerAll registers everybody in the queue of w who has no place, until nobody is left. Who could not be
// registered in a few attempts is when it leads.
func (e *Engine) registerAll(w *waiter) {
	failures := 0
	for failures < 3 && !e.sender.Closed() {
		batch := e.table.unplaced(w)
		if len(batch) == 0 {
			return // and there is no registrar any more
		}
		if err := e.enqueue(w, batch); err != nil {
			failures++
			e.sender.Pause(background, request.FirstPause)
		}
	}
	e.table.endRegistrar(w)
}

// placed notes the place that an attempt was given.
func (l *leader) placed(reply store.AcquireReply) {
	if reply.Ticket != 0 {
		l.engine.table.setTicket(l.waiter, reply.Ticket)
	}
}

// A client lapses when the store has not heard of it for several polls: it is taken for dead, and its waiters'
// places may be given away. It is told so once, with the answer to the first request that brings it to life again.
// If that answer is lost, nobody knows whether it said so; therefore a lost answer counts as one that did. To
// register waiters again that have their places still does nothing, so the price of being wrong is one request.

// lapsed has all that have places in the store's queue registered again, with the tickets that they had: an attempt
// of w was told that the store had given up this process, or had no answer, and nobody is told that twice.
func (e *Engine) lapsed(w *waiter) {
	if w.Registers && e.table.lapse(w, false) && !e.sender.Spawn(func() { e.registerAll(w) }) {
		e.table.endRegistrar(w)
	}
}

// enqueue sends one registration of waiters of w's name. It tells what an attempt does; see lapsed.
func (e *Engine) enqueue(w *waiter, batch []*localqueue.Waiter) error {
	p, limit := w.req.Proto, e.sender.Limit(w.req.Lease)
	var asks []store.Ask
	var reply store.EnqueueReply
	var sent request.Sent
	var err error
	for range 2 { // the first may only tell the time
		enter := func(ctx context.Context, notAfter int64) (now int64, err error) {
			if batch, asks = e.table.entrants(w, batch, notAfter); len(batch) > 0 {
				reply, err = p.Enqueue(ctx, asks)
			}
			return reply.Now, err
		}
		sent, err = e.sender.Send(background, crash.Register, p.Key(), limit, enter)
		if len(batch) == 0 {
			return nil
		}
		if err != nil || reply.Status != store.Late {
			break
		}
	}
	unknown := store.FaultOf(err) == store.FaultAmbiguous
	if unknown || reply.Lapsed {
		e.table.lapse(w, true)
	}
	e.table.registered(w, batch, reply, unknown, sent.Start)
	return err
}

// beginRegistrar reports whether the caller is to be the registrar of w's key.
func (t *table) beginRegistrar(w *waiter) bool {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return q.BeginRegistrar(&w.Waiter)
}

func (t *table) endRegistrar(w *waiter) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.EndRegistrar()
	p.tidy(w.key())
}

// unplaced takes the next of w's queue who have no place in Redis's queue. If there are none, the registrar's
// work is done.
func (t *table) unplaced(w *waiter) []*localqueue.Waiter {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	batch := q.Unplaced(enqueueBatch)
	p.tidy(w.key())
	return batch
}

// lapse notes that those of w's queue that have places may have lost them. It reports whether the caller is to be the
// registrar. Registration says that the registrar was told so.
func (t *table) lapse(w *waiter, registration bool) (registrar bool) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	registrar = q.Lapse(registration)
	p.tidy(w.key())
	return registrar
}

// entrants takes those of a batch that have not left, and notes until when their registration may be carried out.
func (t *table) entrants(
	w *waiter, batch []*localqueue.Waiter, notAfter int64,
) (still []*localqueue.Waiter, asks []store.Ask) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	still = q.Entrants(batch, notAfter)
	for _, at := range still {
		ask := waiterOf(at).askLocked()
		ask.NotAfter = notAfter
		asks = append(asks, ask)
	}
	return still, asks
}

// registered ends a registration. If its outcome is unknown, it stays noted until when it may happen.
func (t *table) registered(
	w *waiter, batch []*localqueue.Waiter, reply store.EnqueueReply, unknown bool, sent time.Duration,
) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Registered(batch, reply.Tickets, unknown)
	if reply.Status == store.Done {
		q.Stands(reply.Next, sent)
	}
}

// entering is until when a registration of w may be carried out, in the server's time; 0: none is.
func (t *table) entering(w *waiter) int64 {
	defer t.lock(w.key()).mu.Unlock()
	return w.Entering()
}

func (t *table) setTicket(w *waiter, ticket int64) {
	defer t.lock(w.key()).mu.Unlock()
	w.SetTicket(ticket)
}
