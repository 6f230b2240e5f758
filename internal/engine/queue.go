package engine

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/lua"
)

// enqueueBatch is how many waiters one script registers.
const enqueueBatch = 100

// register sees to it that a waiter that stands behind others of its process gets its place in Redis's
// queue, if the lock has one: the order between processes is that of arrival, and not of coming to the head
// here. One goroutine a name registers all who came meanwhile, in their order.
func (e *Engine) register(w *waiter) {
	q, ok := w.req.Proto.(Queuer)
	if !ok || !e.table.beginRegistrar(w) {
		return
	}
	if !e.spawn(func() { e.registerAll(q, w) }) {
		e.table.endRegistrar(w)
	}
}

// registerAll registers everybody in the line of w who has no place, until nobody is left. Who could not be
// registered in a few attempts is when it leads.
func (e *Engine) registerAll(q Queuer, w *waiter) {
	failures := 0
	for failures < 3 && !e.isClosed() {
		batch, first := e.table.unplaced(w)
		if len(batch) == 0 {
			return // and there is no registrar any more
		}
		if err := e.enqueue(q, w, batch, first); err != nil {
			failures++
			e.pause(background, firstPause)
		}
	}
	e.table.endRegistrar(w)
}

// placed notes the place that an attempt was given, and brings back those behind it whom Redis had
// given up meanwhile: they keep their tickets.
func (l *leader) placed(reply lua.AcquireReply) {
	if reply.Ticket == 0 {
		return
	}
	e := l.engine
	e.table.setTicket(l.waiter, reply.Ticket)
	q, ok := l.req.Proto.(Queuer)
	if !ok || !reply.Lapsed {
		return
	}
	for behind := e.table.behind(l.waiter); len(behind) > 0; {
		batch := behind[:min(len(behind), enqueueBatch)]
		behind = behind[len(batch):]
		batch = e.table.registering(l.waiter, batch)
		if len(batch) > 0 && e.enqueue(q, l.waiter, batch, false) != nil {
			return // the next attempt finds them lapsed again
		}
	}
}

// enqueue sends one registration of waiters of w's name. First says that no other one has a place.
func (e *Engine) enqueue(q Queuer, w *waiter, batch []*waiter, first bool) error {
	p, limit := w.req.Proto, e.limit(w.req.Lease)
	var asks []Ask
	var reply lua.EnqueueReply
	var err error
	for range 2 { // the first may only tell the time
		node, sent := e.node(p.Key()), e.clock.Now()
		notAfter := e.clocks.NotAfter(node, sent, limit)
		if batch, asks = e.table.entrants(w, batch, notAfter); len(batch) == 0 {
			return nil
		}
		err = e.exec(background, crash.Register, p.Key(), limit,
			func(ctx context.Context, conn lua.Conn) (bool, error) {
				var err error
				reply, err = q.Enqueue(ctx, conn, asks, first)
				return false, err
			})
		e.clocks.Observe(node, sent, e.clock.Now(), reply.Now)
		if err != nil || reply.Status != lua.Late {
			break
		}
	}
	e.table.registered(w, batch, reply.Tickets, classify(err) == faultAmbiguous)
	return err
}

// beginRegistrar reports whether the caller is to be the registrar of w's name.
func (t *table) beginRegistrar(w *waiter) bool {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.inLine(p.row(w.req.Proto.Key()))
	if at.registrar || w.place != queued {
		return false
	}
	at.registrar = true
	return true
}

func (t *table) endRegistrar(w *waiter) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.rows[w.req.Proto.Key()]; r != nil && r.line != nil {
		r.line.registrar = false
		p.tidy(w.req.Proto.Key(), r)
	}
}

// unplaced takes the next of w's line who have no place in Redis's queue. If there are none, the registrar's
// work is done. First reports that nobody in the line has one.
func (t *table) unplaced(w *waiter) (batch []*waiter, first bool) {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	first = true
	for at := r.first(); at != nil && (first || len(batch) < enqueueBatch); at = at.next {
		first = first && at.ticket == 0
		_, ok := at.req.Proto.(Queuer)
		if ok && at.place == queued && at.ticket == 0 && len(batch) < enqueueBatch {
			at.registering = true
			batch = append(batch, at)
		}
	}
	if len(batch) == 0 {
		p.inLine(r).registrar = false
		p.tidy(key, r)
	}
	return batch, first
}

// behind are those behind w that have a place in Redis's queue.
func (t *table) behind(w *waiter) (behind []*waiter) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := w.next; at != nil; at = at.next {
		if at.place == queued && at.ticket != 0 {
			behind = append(behind, at)
		}
	}
	return behind
}

// registering takes those of a batch who still wait.
func (t *table) registering(w *waiter, batch []*waiter) (still []*waiter) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range batch {
		if at.place == queued && !at.registering {
			at.registering = true
			still = append(still, at)
		}
	}
	return still
}

// entrants takes those of a batch who still wait, and notes until when their registration may be carried
// out: whoever leaves until it is answered has it taken back for as long. One that left before has had
// taken back what there was then, and nobody would take its place away any more.
func (t *table) entrants(w *waiter, batch []*waiter, notAfter int64) (still []*waiter, asks []Ask) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range batch {
		if at.place == gone {
			continue
		}
		at.entering = max(at.entering, notAfter)
		ask := at.askLocked()
		ask.NotAfter = notAfter
		still, asks = append(still, at), append(asks, ask)
	}
	return still, asks
}

// registered ends a registration. If its outcome is unknown, it stays noted until when it may happen.
func (t *table) registered(w *waiter, batch []*waiter, tickets []int64, unknown bool) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, at := range batch {
		at.registering = false
		if !unknown {
			at.entering = 0
		}
		if i < len(tickets) {
			at.ticket = tickets[i]
		}
		if at.place == leading {
			at.tell()
		}
	}
}

// entering is until when a registration of w may be carried out, in the server's time; 0: none is.
func (t *table) entering(w *waiter) int64 {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.entering
}

func (t *table) setTicket(w *waiter, ticket int64) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	w.ticket = ticket
}

// rename gives a waiter a new id.
func (t *table) rename(w *waiter, id string) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	w.id = id
}

// nextAsk is w's next attempt, without a not-after.
func (t *table) nextAsk(w *waiter) Ask {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.askLocked()
}

func (w *waiter) askLocked() Ask {
	return Ask{
		ID: w.id, Lease: w.req.Lease, Under: w.under, Ticket: w.ticket, Once: w.once,
		Waited: crowds(w.req.Proto) && (w.refused || w.notify != nil),
	}
}
