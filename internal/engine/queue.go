package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// enqueueBatch is how many waiters one script registers: enough that many waiters need few scripts, and few enough that
// none of them keeps the store from its other clients for more than a fraction of a millisecond.
const enqueueBatch = 100

// register gives a waiter that stands behind others of its process its place in the store's queue, if the lock has
// one: the order between processes is that of arrival, and not of coming to the head here. One goroutine per name
// registers all waiters that came meanwhile, in their order.
func (e *Engine) register(w *waiter) {
	if w.req.Proto.Traits().Queues && w.key.beginRegistrar(w) {
		e.beRegistrar(w.key, w.req)
	}
}

// beRegistrar starts the registrar of a key, for which a request stands that one of its waiters makes.
func (e *Engine) beRegistrar(k *Key, as *Request) {
	if !e.sender.Spawn(func() { e.registerAll(k, as) }) {
		k.endRegistrar()
	}
}

// registerAll registers everybody in the queue of a key who has no place, until nobody is left. A waiter that could
// not be registered in a few attempts gets its place when it is the first and asks.
func (e *Engine) registerAll(k *Key, as *Request) {
	failures := 0
	for failures < 3 && !e.sender.Closed() {
		batch := k.unplaced()
		if len(batch) == 0 {
			return // and there is no registrar any more
		}
		if err := e.enqueue(k, as, batch); err != nil {
			failures++
			e.sender.Pause(background, request.FirstPause)
		}
	}
	k.endRegistrar()
}

// placed notes the place that an attempt was given.
func (w *waiter) placed(reply store.AcquireReply) {
	if reply.Ticket != 0 {
		w.setTicket(reply.Ticket)
	}
}

// lapsed has all that have places in the store's queue registered again, with the tickets that they had: an attempt
// of w was told that the store had given up this process, or had no answer, and nobody is told that twice.
//
// A client lapses when the store has not heard of it for several polls: it is taken for dead, and its waiters'
// places may be given away. The store says so once, in the answer to the first request that brings it to life again.
// If that answer is lost, nobody knows what it said; therefore a lost answer counts as one that did. To
// register waiters again that have their places still does nothing, so the price of being wrong is one request.
//
// For example, three waiters of process P have places 5, 6 and 7, and P stands still for a minute. Others take it
// for dead and remove its places. When P goes on, its first waiter asks, and the answer says that P had lapsed. All
// three are registered again with the tickets that they had, so they stand before everybody who came later. A
// fourth waiter that was being registered at that very moment has its new place by that request, and is registered
// twice at worst.
func (e *Engine) lapsed(w *waiter) {
	if !w.Registers() {
		return
	}
	if k := e.table.lapsed(w.req.Proto); k != nil {
		e.beRegistrar(k, w.req)
	}
}

// enqueue sends one registration of waiters of a key. It tells what an attempt does; see lapsed.
func (e *Engine) enqueue(k *Key, as *Request, batch []*localqueue.Waiter) error {
	p, limit := as.Proto, e.sender.Limit(as.Lease)
	var reply store.EnqueueReply
	var sent store.Receipt
	sending, err := e.sender.Start(crash.Register, p, limit)
	if err == nil {
		var asks []store.Ask
		if batch, asks = k.entrants(batch, sending.Timing); len(batch) == 0 { // all have left
			_, _ = sending.End(background, sent, store.ErrUnsent)
			return nil
		}
		reply, sent, err = p.Enqueue(background, asks)
	}
	sent, err = sending.End(background, sent, err)
	unknown := store.FaultOf(err) == store.FaultAmbiguous
	if unknown || reply.Lapsed {
		k.lapse()
	}
	left := k.registered(batch, reply, sent, unknown)
	if err == nil || unknown {
		for _, id := range left {
			e.disown(as, id, sent.Late, 0)
		}
	}
	return err
}

// beginRegistrar reports whether the caller is to be the registrar, as w has no place.
//
// There is one registrar for a key at a time, because the order of waiters is that of their calls: two batches that are
// under way at the same time could reach the store in either order. While one batch is under way others come, and are
// registered together by the next: any number of waiters costs few requests.
func (k *Key) beginRegistrar(w *waiter) bool {
	k.mu.Lock()
	defer k.unlock()
	return k.queueLocked().BeginRegistrar(&w.Waiter)
}

// endRegistrar ends the registrar's work before it is done: the client closes, or the store does not answer. Waiters
// without a place are registered when they come to the head of the queue and ask.
func (k *Key) endRegistrar() {
	k.mu.Lock()
	defer k.unlock()
	k.queueLocked().EndRegistrar()
}

// unplaced takes the next of the queue who have no place in the store's queue. If there are none, the registrar's
// work is done.
func (k *Key) unplaced() []*localqueue.Waiter {
	k.mu.Lock()
	defer k.unlock()
	return k.queueLocked().Unplaced(enqueueBatch)
}

// lapsed notes that those of a key's queue that have places may have lost them. If the caller is to be the registrar,
// the key is returned. It is found by its name: the answer may have come to a waiter whose own Key is dead by now, and
// concerns those that came since.
func (t *table) lapsed(p store.Rules) (registered *Key) {
	k := t.lock(p)
	defer k.unlock()
	if k.queueLocked().Lapse(false) {
		return k
	}
	return nil
}

// lapse notes the same, where the registrar learned of it.
func (k *Key) lapse() {
	k.mu.Lock()
	defer k.unlock()
	k.queueLocked().Lapse(true)
}

// entrants takes those of a batch that have not left.
func (k *Key) entrants(
	batch []*localqueue.Waiter, when store.Timing,
) (still []*localqueue.Waiter, asks []store.Ask) {
	k.mu.Lock()
	defer k.unlock()
	still = k.queueLocked().Entrants(batch)
	asks = make([]store.Ask, 0, len(still))
	for _, at := range still {
		ask := waiterOf(at).askLocked()
		ask.Timing = when
		asks = append(asks, ask)
	}
	return still, asks
}

// registered ends a registration. If its outcome is unknown, it stays noted until when it may happen. It returns the
// ids of waiters that left meanwhile, which may have places now.
func (k *Key) registered(
	batch []*localqueue.Waiter, reply store.EnqueueReply, sent store.Receipt, unknown bool,
) (left []string) {
	k.mu.Lock()
	defer k.unlock()
	q, late := k.queueLocked(), int64(0)
	if unknown {
		late = int64(sent.Late)
	}
	left = q.Registered(batch, reply.Tickets, late)
	if reply.Status == store.Done {
		q.Stands(reply.Next, sent.Since)
	}
	return left
}

// entering is until when a registration of w that had no answer may be carried out.
func (w *waiter) entering() store.Late {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	return store.Late(w.Late())
}

// setTicket notes the place that w's own attempt was given; it writes what the registrar would.
func (w *waiter) setTicket(ticket int64) {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	w.SetTicket(ticket)
}

// leavePlaces takes away the places that waiters of this process have in the store's queue although the grant was
// passed to them, when its release does not: the grant is gone, or another process has it. The request is the release
// of one of the places. It touches no hold, unless the store gave the lock to one of them meanwhile, and then the lock
// goes to the next.
//
// A waiter that was served keeps its place for the time of the run: to take each place away at once would be a request
// for each turn, which is what passing in memory saves. The release at the end of the run takes all of them away,
// before it looks whose turn is next.
func (e *Engine) leavePlaces(g *Grant) {
	if served := g.Served(); len(served) > 0 {
		e.sender.Disown(request.Disowned{Proto: g.proto.Serving(served), ID: served[0], Lease: g.Longest()})
	}
}

// longTurn is for how long a turn goes on before the places of those that had theirs are taken away during it: until
// then, a client that looks at the store's queue takes them for waiters. It is the last turn of its run by then.
const longTurn = 50 * time.Millisecond

// turns looks after the turns of one grant, from the first that passes by a place in the store's queue on. It is made
// and armed once for all of them, as most are over long before anything is due.
type turns struct {
	timer watchdog.Timer
	grant *Grant
}

// watchTurns lets the places be taken away of those that were served before a turn which lasts long.
func (g *Grant) watchTurns(next *hold.Hold) {
	t := &turns{grant: g}
	t.timer.Init(func(arg any) { arg.(*turns).look() }, t)
	g.engine().wheel.Schedule(&t.timer, next.Start()+longTurn)
}

// look does that when the wheel calls it, which rounds down. By now the grant may be in another turn, or its turn may
// have ended while the next waiter is registered; then look is called again. When the grant is gone, nothing is left
// to do.
func (t *turns) look() {
	g, e := t.grant, t.grant.engine()
	if g.Over() {
		return
	}
	now := e.clock.Now()
	if h := g.Current(); h == nil {
		e.wheel.Schedule(&t.timer, now+longTurn)
	} else if at := h.Start() + longTurn; at > now+hold.Tick {
		e.wheel.Schedule(&t.timer, at)
	} else { // if it ends now, its release takes the places away, and so may this
		// Refused when Close is at work, which ends the grant.
		e.sender.Spawn(func() { e.leavePlaces(g) })
	}
}
