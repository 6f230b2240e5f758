package engine

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// table is what the process knows of each key without asking Redis: the live holds, and the queue of those that
// wait. It is split so that keys do not wait for one another.
//
// What to do with a queue is decided in package localqueue. The methods of the table find the queue of a key, under
// the mutex of its part, and remove what nobody needs any more.
//
// Every method is one step: it takes the mutex of one part, decides, and lets go. Between two of them anything may
// happen, so what a method returns is true of the past. It is enough because each step is one that stays right: a
// waiter that is told to ask keeps its turn until it wins, steps back or leaves; a grant that is listed stays until it
// is over, and what ended it takes it off. Where two steps have to be one, they are one method (pass chooses the next
// waiter, begins its Hold and wakes it).
//
// A grant's mutex is taken with a part's held, and the other way round nowhere. So nobody can wait in a circle; the
// price is that a grant may end between being found and being used, which its own methods then say.
type table struct {
	engine *Engine
	seed   maphash.Seed
	once   sync.Once
	parts  [64]part
}

// part is the keys of which the hash ends alike. Two keys meet in one part by chance only; there are enough parts that
// goroutines with names of their own seldom wait for one another.
type part struct {
	clock *watchdog.Clock // the engine's

	mu       sync.Mutex // guards all below, what is in it, and the queue's part of the waiters
	keys     map[string]*keyState
	deserted []string // those of them that nobody holds or waits for, in the order in which they were deserted
}

// waiter is one Lock call that did not get its hold yet. The goroutine of that call owns it, but for what the queue
// knows of it, and for the hold that another goroutine may bring to it.
type waiter struct {
	localqueue.Waiter // guarded by the part of the table that its key is in

	req     Request
	under   outer      // the hold of another side under which it passes the queue
	lockSet *lockSet   // it stands for several requests; req is the one in whose queue it is
	once    bool       // it is not going to wait
	why     error      // what is said if it is refused, where that is not "busy"
	denied  denial     // of its requests, by its present id
	hold    *hold.Hold // that came to it without its asking; guarded as well
	joiner  *joiner    // of a reader; nil for others

	asks bool          // it asked when it entered, at which it was noted that it asks: it need not look
	out  time.Duration // until when the process leaves the key to others, as of when w began to ask

	stale  watchdog.Timer // notes that it stands behind its own client for long
	behind *hold.Hold     // that it stood behind when that was looked at first; the wheel's
	valid  time.Duration  // until when that could be relied on then; the wheel's
	polls  watchdog.Timer // has it ask now and then, if the store keeps a queue for its kind
}

// newWaiter makes a waiter with an id of its own. Since is the instant of the call, for the order among waiters and
// for what observers are told.
func (e *Engine) newWaiter(req Request, since time.Duration, under outer) *waiter {
	w := &waiter{req: req, under: under}
	traits := req.Proto.Traits()
	w.Waiter = localqueue.Waiter{
		Kind: req.Proto, Owner: w, Since: since, ID: e.newID(),
		Several: traits.SeveralAsk, Size: traits.Portion, Registers: traits.Queues,
		Inside: under.id != "", Shared: req.Shared,
	}
	return w
}

// waiterOf is the waiter that a queue's waiter is a part of.
func waiterOf(w *localqueue.Waiter) *waiter {
	if w == nil {
		return nil
	}
	return w.Owner.(*waiter)
}

func (w *waiter) key() string { return w.req.Proto.Key() }

// lock locks the part of the table that a key is in.
func (t *table) lock(key string) *part {
	t.once.Do(func() {
		t.seed = maphash.MakeSeed()
		for i := range t.parts {
			t.parts[i].clock = t.engine.clock
		}
	})
	p := &t.parts[maphash.String(t.seed, key)%uint64(len(t.parts))]
	p.mu.Lock()
	return p
}

// queue locks the part of the table that a key is in, and returns it with the key's queue.
func (t *table) queue(key string) (*part, *localqueue.Queue) {
	p := t.lock(key)
	return p, p.queue(p.state(key))
}

// enter puts w at the end of the queue; it asks at once if nothing local is in the way. With tryOnly
// it enters only if nobody here can refuse it, and asks Redis at once, beside those that do that already: a waiter
// that has not been refused by Redis is in nobody's way, so a TryLock of a free lock is not refused because another
// goroutine began to ask for it a moment ago.
//
// Where w asks at once, what it would come back for is done in the same step. A free lock takes the mutex of its part
// twice to be locked, here and when it is granted, and twice to be unlocked.
func (t *table) enter(w *waiter, tryOnly bool) bool {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	entered := true
	if tryOnly {
		entered = q.Try(&w.Waiter)
		p.tidy(w.key())
	} else {
		q.Enter(&w.Waiter)
	}
	if w.Look() == localqueue.Asking && !w.Registers && !w.Several {
		w.asks, w.out = true, q.OutUntil()
		w.Asks()
	}
	return entered
}

// leave takes w out of the queue, and returns what is left for its caller to clean up. If a hold came to it
// meanwhile, that is returned, and is the caller's to pass on.
func (t *table) leave(w *waiter) (*hold.Hold, localqueue.Remains) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	left := q.Leave(&w.Waiter)
	p.tidy(w.key())
	if left.Hold {
		return w.hold, left
	}
	return nil, left
}

// won makes the asking waiter's attempt a grant of this process, as Redis has answered: with a token of the range, and
// with what the answer says of those that stand next in the store's queue.
func (t *table) won(w *waiter, h *hold.Hold, sent asked) {
	g := grantOf(h)
	defer g.delist() // when the part is unlocked
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Took(t.engine.clock.Now() - sent.Start)
	if q.Followed(&w.Waiter) && w.req.Proto.Traits().Passes {
		g.lend(h, sent.reply.Spare)
	}
	if sent.reply.Inside {
		g.within(h, w.under)
	}
	p.win(w, g)
	if w.Registers {
		q.Stands(sent.reply.Next, sent.Start)
		if sent.reply.Swapped {
			q.Swapped()
		}
	}
	p.tidy(w.key())
}

// win turns the asking waiter's attempt into a grant of this process; nil if nothing is held. The grant may be over
// already: the watchdog knows it from the moment at which it was made, and may have ended it before it was listed, when
// there was nothing to take off the table. So it is looked at once more after it was listed (delist). Either the one
// who ends it or this sees it listed.
func (t *table) win(w *waiter, g *Grant) {
	if g != nil {
		defer g.delist() // when the part is unlocked
	}
	p := t.lock(w.key())
	defer p.mu.Unlock()
	p.win(w, g)
	p.tidy(w.key())
}

// win ends w's turn to ask, under the mutex.
func (p *part) win(w *waiter, g *Grant) {
	s := p.state(w.key())
	if g != nil {
		p.list(s, g)
	}
	q := p.queue(s)
	q.Win(&w.Waiter)
	if w.joiner != nil {
		w.joiner.awaited = q.Awaited(&w.Waiter)
	}
}

// add lists a grant that came without waiting.
func (t *table) add(g *Grant) {
	defer g.delist() // when the part is unlocked
	p := t.lock(g.proto.Key())
	defer p.mu.Unlock()
	p.list(p.state(g.proto.Key()), g)
}

// drop takes a grant out and lets the next in the queue ask Redis. It may be called twice for one grant, and only the
// first call does something: a grant that is not listed is in nobody's way.
func (t *table) drop(g *Grant) {
	p := t.lock(g.proto.Key())
	defer p.mu.Unlock()
	p.drop(g, 0)
}

// released drops a grant whose release Redis has confirmed, after its last Hold. The first in the queue stood behind
// it: a try that comes before that one has asked must not overtake it. If the release ended a run of turns and others
// heard of it, the process owes each of them a turn, also if nobody of it waits: it may come back at once. Where nobody
// has heard of it, a key that nobody waits for needs no queue.
//
// Of a release that Redis has not confirmed nobody knows whether the first in the queue is next anywhere: then drop
// is all that is done.
func (t *table) released(g *Grant, last *hold.Hold, ends runEnd) {
	p := t.lock(g.proto.Key())
	defer p.mu.Unlock()
	s, owed := p.keys[g.proto.Key()], 0
	if s != nil && s.queue != nil {
		s.queue.KeepTurn(g.proto.Mode())
	}
	if s != nil && ends.over && (s.queue != nil || !ends.unheard()) {
		owed = p.endRun(p.queue(s), last.Start(), ends)
	}
	p.drop(g, owed)
}

// endRun notes the end of a run, whose last turn began at an instant, and returns to how many other processes this one
// owes a turn.
func (p *part) endRun(q *localqueue.Queue, last time.Duration, ends runEnd) (owed int) {
	now := p.clock.Now()
	q.RunEnds(localqueue.Heard(ends.heard))
	if ends.others == 0 || q.Empty() && ends.unheard() {
		return 0
	}
	q.Remember(now)
	if q.GoesOn(last, now) {
		return 0
	}
	return ends.others
}

// drop is both of them, under the mutex.
func (p *part) drop(g *Grant, others int) {
	key := g.proto.Key()
	s := p.keys[key]
	if s == nil {
		return
	}
	s.unlist(g)
	switch now := p.clock.Now(); {
	case s.queue == nil:
	case g.portion != nil:
		s.queue.ReleasedPortion(others, now)
	default:
		s.queue.Released(others, now)
	}
	p.tidy(key)
}

// look returns the state of w, and the hold that came to it. Its caller looks again after each signal: a signal says
// that something may have changed, and not what.
func (t *table) look(w *waiter) (localqueue.State, *hold.Hold) {
	p := t.lock(w.key())
	defer p.mu.Unlock()
	if s := p.keys[w.key()]; s != nil && s.queue != nil {
		w.out = s.queue.OutUntil()
	}
	return w.Look(), w.hold
}

// nextAsk is w's next attempt, without a not-after: that is set when it is sent, which may be some time later if a
// connection has to be made first.
func (t *table) nextAsk(w *waiter) store.Ask {
	if w.asks { // nobody else writes of it what an ask is made of: others write tickets, and what several were told
		w.asks = false
		return w.askLocked()
	}
	defer t.lock(w.key()).mu.Unlock()
	w.Asks()
	return w.askLocked()
}

// askLocked is what w asks for, as of now. It is made under the table's mutex, since the id and the ticket of a
// waiter may be written by the registrar.
func (w *waiter) askLocked() store.Ask {
	return store.Ask{
		ID: w.ID, Lease: w.req.Lease, Under: w.under.id, Ticket: w.Ticket(), Once: w.once,
		Waited: w.Several && w.HasWaited(),
	}
}

// rename gives a waiter a new id.
func (t *table) rename(w *waiter, id string) {
	defer t.lock(w.key()).mu.Unlock()
	w.Rename(id)
}

// waiting are those of a mode that stand in a key's queue.
func (t *table) waiting(key, mode string) (line []Queued) {
	p := t.lock(key)
	defer p.mu.Unlock()
	for w := range p.keys[key].waiters() {
		if w.Kind.Mode() == mode {
			line = append(line, Queued{ID: w.ID, Since: t.engine.clock.Wall(w.Since), Mine: true})
		}
	}
	return line
}

// find finds a grant of this process by its id.
func (t *table) find(key, id string) *Grant {
	p := t.lock(key)
	defer p.mu.Unlock()
	return p.keys[key].find(id)
}

// held reports that a local hold is in the way of a request. It may be gone when the caller acts on that; whoever
// ends it lets the next in its queue ask, so nobody waits for a hold that is gone.
func (t *table) held(proto store.Protocol) bool {
	p := t.lock(proto.Key())
	defer p.mu.Unlock()
	for g := range p.keys[proto.Key()].grants() {
		if proto.Excludes(g.proto.Mode()) {
			return true
		}
	}
	return false
}

// all returns every grant there is, part by part: not all at one instant. Its callers (Close, and a change of the
// primary) can do with that, since a grant that is listed after its part was looked at belongs to a request that was
// sent after the event, or finds the sender closed.
func (t *table) all() []*Grant {
	var grants []*Grant
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		for _, s := range p.keys {
			grants = slices.AppendSeq(grants, s.grants())
		}
		p.mu.Unlock()
	}
	return grants
}
