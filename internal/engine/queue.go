package engine

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// enqueueBatch is how many waiters one script registers.
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
		batch, first := e.table.unplaced(w)
		if len(batch) == 0 {
			return // and there is no registrar any more
		}
		if err := e.enqueue(w, batch, first); err != nil {
			failures++
			e.sender.Pause(background, request.FirstPause)
		}
	}
	e.table.endRegistrar(w)
}

// placed notes the place that an attempt was given, and brings back those behind it whom Redis had
// given up meanwhile: they keep their tickets.
func (l *leader) placed(reply store.AcquireReply) {
	if reply.Ticket == 0 {
		return
	}
	e := l.engine
	e.table.setTicket(l.waiter, reply.Ticket)
	if !l.req.Proto.Traits().Queues || !reply.Lapsed {
		return
	}
	for behind := e.table.placedBehind(l.waiter); len(behind) > 0; {
		batch := behind[:min(len(behind), enqueueBatch)]
		behind = behind[len(batch):]
		batch = e.table.again(l.waiter, batch)
		if len(batch) > 0 && e.enqueue(l.waiter, batch, false) != nil {
			return // the next attempt finds them lapsed again
		}
	}
}

// enqueue sends one registration of waiters of w's name. First says that no other one has a place.
func (e *Engine) enqueue(w *waiter, batch []*localqueue.Waiter, first bool) error {
	p, limit := w.req.Proto, e.sender.Limit(w.req.Lease)
	var asks []store.Ask
	var reply store.EnqueueReply
	var err error
	for range 2 { // the first may only tell the time
		enter := func(ctx context.Context, notAfter int64) (now int64, err error) {
			if batch, asks = e.table.entrants(w, batch, notAfter); len(batch) > 0 {
				reply, err = p.Enqueue(ctx, asks, first)
			}
			return reply.Now, err
		}
		_, err = e.sender.Send(background, crash.Register, p.Key(), limit, enter)
		if len(batch) == 0 {
			return nil
		}
		if err != nil || reply.Status != store.Late {
			break
		}
	}
	e.table.registered(w, batch, reply.Tickets, store.FaultOf(err) == store.FaultAmbiguous)
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
// work is done. First reports that nobody in the queue has one.
func (t *table) unplaced(w *waiter) (batch []*localqueue.Waiter, first bool) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	batch, first = q.Unplaced(enqueueBatch)
	p.tidy(w.key())
	return batch, first
}

// placedBehind are those behind w that have a place in Redis's queue.
func (t *table) placedBehind(w *waiter) []*localqueue.Waiter {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return q.PlacedBehind(&w.Waiter)
}

// again takes those of a batch that still wait, to be registered once more.
func (t *table) again(w *waiter, batch []*localqueue.Waiter) []*localqueue.Waiter {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return q.Again(batch)
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
func (t *table) registered(w *waiter, batch []*localqueue.Waiter, tickets []int64, unknown bool) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Registered(batch, tickets, unknown)
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
