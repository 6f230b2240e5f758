package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// waiter is one Lock call that did not get its hold yet. It has two sides. What its Key knows of it is guarded by the
// mutex of the Key, since other goroutines come to it in the queue. All the rest is used by the goroutine of the call
// alone, but for what is constant and for the watch of the wheel.
//
// What is unknown of its requests is in attempts, which is settled before the waiter is forgotten, whichever way its
// call ends.
type waiter struct {
	queued
	watch

	req     *Request
	under   outer    // the hold of another side under which it passes the queue; constant
	lockSet *lockSet // it stands for several requests; req is the one in whose queue it is
	key     *Key     // in whose queue it is, or was; constant from when it entered

	once  bool // it is not going to wait; constant
	asks  bool // it asked when it entered, at which it was noted that it asks: it need not look
	noted bool // its watch was set up

	seen
	attempts request.Attempts // its requests by its present id
	ears
	lastWord
}

// queued is what a Key knows of a waiter. The mutex of the Key guards it.
type queued struct {
	localqueue.Waiter
	hold    *hold.Hold  // that came to it without its asking
	level   *hold.Level // by which it joined another's hold
	awaited bool        // others wait for the answer to the request that it was granted
	wanted  bool        // another client waits for what its request may have taken
}

// seen is what a waiter saw of its Key as it came, or looked last.
type seen struct {
	out  time.Duration // until when a process that does not listen leaves the key to others, as of when it began to ask
	left time.Duration // until when the process does that even if it listens, as of then
}

// ears are what a waiter that asks listens to, between two requests.
type ears struct {
	ticket store.Ticket    // of the lock's channel; nil: it is not subscribed to
	ready  <-chan struct{} // closed when that subscription stands; nil: it does, or there is none
	alsoOn string          // another channel on which the holder publishes its release; "": none
	also   store.Ticket    // of that one
	roused <-chan struct{} // it is given a hold while it rests, or one of its process is released; nil: neither can be
	pace   *pace           // nil: it has not waited yet
	pollIn time.Duration   // how soon to ask again without a message, as the store says; 0: it does not say
}

// lastWord is what the store said last to a waiter that asks.
type lastWord struct {
	why           error // what is said of the next, where it is not "busy"
	last          error // of the last attempt that got no answer
	recalled      int32 // one of its requests, from 1 on, whose lock may be idle in another client, which was told
	mayHaveLapsed bool  // an attempt had no answer that may have told of a lapse
}

// watch is what the wheel looks at while a waiter stands in its queue. Only the wheel's goroutine uses behind and
// valid.
type watch struct {
	stale  watchdog.Timer  // notes that it stands behind its own client for long
	behind *hold.Hold      // that it stood behind when that was looked at first
	valid  time.Duration   // until when that could be relied on then
	polls  *watchdog.Timer // has it ask now and then; nil unless the store keeps a queue for its kind
}

// enrolled is a waiter of a kind for which the store keeps a queue, in one piece with what only such a one has.
type enrolled struct {
	waiter
	place localqueue.Place
	polls watchdog.Timer
}

// engine is the engine of a waiter that has entered a queue.
func (w *waiter) engine() *Engine { return w.key.table.engine }

// newWaiter makes a waiter with an id of its own. Since is the instant of the call, for the order among waiters and
// for what observers are told.
func (e *Engine) newWaiter(req *Request, since time.Duration, under outer) *waiter {
	traits := req.Proto.Traits()
	var w *waiter
	if traits.Queues {
		own := new(enrolled)
		w = &own.waiter
		w.Place, w.polls = &own.place, &own.polls
	} else {
		w = new(waiter)
	}
	w.req, w.under, w.ID = req, under, e.idFor(req)
	w.Caller = localqueue.Caller{
		Kind: req.Proto, Of: w, Since: since, Several: traits.SeveralAsk, Size: traits.Portion,
	}
	switch {
	case under.id != "":
		w.Manner = localqueue.Inside
	case req.Looks:
		w.Manner = localqueue.Looks
	}
	return w
}

// waiterOf is the waiter that a queue's waiter is a part of.
func waiterOf(w *localqueue.Waiter) *waiter {
	if w == nil {
		return nil
	}
	return w.Of.(*waiter)
}

// enter puts w at the end of the queue of its key; it asks at once if nothing local is in the way. With tryOnly it
// enters only if nobody here can refuse it, and asks the store at once, beside those that do that already: a waiter
// that has not been refused by the store is in nobody's way, so a TryLock of a free lock is not refused because another
// goroutine began to ask for it a moment ago.
//
// An idle grant that w is not given is in its way, and is released.
//
// Where w asks at once, what it would come back for is done in the same step. A free lock takes the mutex of its Key
// twice to be locked, here and when it is granted, and three times to be unlocked.
func (t *table) enter(w *waiter, tryOnly bool) bool {
	k := t.lock(w.req.Proto)
	defer k.unlock()
	w.key = k
	if g := k.unusedLocked(w.req.Proto); g != nil && g.IsIdleLocked() {
		t.engine.sender.Spawn(g.letGo) // refused when Close is at work, which ends it
	}
	q, entered := k.queueLocked(), true
	if g := w.lockSet; g != nil && g.said.At > 0 && (g.said.Err != nil || g.which == g.at) {
		q.Say(g.said)
	}
	if tryOnly {
		entered = q.Try(&w.Waiter)
	} else {
		q.Enter(&w.Waiter)
		if w.Look() == localqueue.Waiting && w.Size == 0 { // portions are not kept, and there may be thousands of them
			k.wantedHereLocked()
		}
	}
	if w.Look() == localqueue.Asking && !w.Registers() && !w.Several {
		w.asks, w.out, w.left = true, q.OutUntil(), q.LeftUntil()
		w.Asks()
	}
	return entered
}

// leave takes w out of the queue, and returns what is left for its caller to clean up. If a hold came to it
// meanwhile, that is returned, and is the caller's to pass on.
func (w *waiter) leave() (*hold.Hold, localqueue.Remains) {
	k := w.key
	k.mu.Lock()
	defer k.unlock()
	left := k.queueLocked().Leave(&w.Waiter)
	if left.Hold {
		return w.hold, left
	}
	return nil, left
}

// look returns the state of w, and the hold that came to it. Its caller looks again after each signal: a signal says
// that something may have changed, and not what.
func (w *waiter) look() (localqueue.State, *hold.Hold) {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	if w.key.queue != nil {
		w.out, w.left = w.key.queue.OutUntil(), w.key.queue.LeftUntil()
	}
	return w.Look(), w.hold
}

// turn is the next step of a waiter that asks: it sends a request, unless it was given a hold, or another has asked the
// same and nothing was heard since.
//
// Where any number may ask at a time, what one of them was told is of use to the others. A semaphore of four
// permits with sixty waiters of one process would otherwise cause sixty requests for each permit that is returned.
// Waiters that want different numbers learn nothing from one another: three permits may be too many where one is
// not.
func (w *waiter) turn(ctx context.Context) (*hold.Hold, time.Duration, error) {
	if w.Size == 0 {
		return w.attempt(ctx)
	}
	var heard store.Heard // none, without a subscription: then everything may have been missed
	if w.ticket != nil {
		heard = w.ticket.Heard()
	}
	h, pttl, sends := w.requests(localqueue.Heard(heard))
	switch {
	case h != nil:
		return h, 0, nil
	case !sends:
		w.roused = w.Changed()
		return nil, pttl, nil
	}
	h, pttl, err := w.attempt(ctx)
	if h == nil && err == nil && !w.attempts.InDoubt() {
		e := w.engine()
		until := e.clock.Now() + min(pttl+time.Millisecond, e.cfg.MaxPoll)
		if w.why != nil {
			until = 0
		}
		w.rests(localqueue.Heard(heard), until)
		w.roused = w.Changed() // others set it no more
	}
	return h, pttl, err
}

// requests has w be asking the store from now on, unless it was given a hold, or need not ask. It need not ask if
// another waiter that wanted as much was refused, and nothing was heard on the channel since: the store would refuse it
// as well. For example, sixty callers that want one permit each and find none free send one request and not sixty; when
// a permit is returned elsewhere, the first of them asks.
func (w *waiter) requests(heard localqueue.Heard) (h *hold.Hold, wait time.Duration, sends bool) {
	w.key.mu.Lock()
	defer w.key.unlock()
	if w.Look() == localqueue.Granted {
		return w.hold, 0, false
	}
	wait, sends = w.key.queueLocked().Request(&w.Waiter, heard, w.key.table.engine.clock.Now())
	return nil, wait, sends
}

// rests notes that w was refused, and that no request of its own is under way: from now on a portion may be passed
// to it in memory. With a request under way that must not be, for it could be granted another one besides.
func (w *waiter) rests(heard localqueue.Heard, until time.Duration) {
	w.key.mu.Lock()
	defer w.key.unlock()
	w.key.queueLocked().Rest(&w.Waiter, heard, until)
}

// given takes away the place that a copy of a request may still make in the store's queue, which was refused to w
// before it was given a hold under another id. The release of that hold takes away the place that w has now; so this
// can wait until no copy comes any more.
func (e *Engine) given(w *waiter, h *hold.Hold) *hold.Hold {
	if until := w.attempts.CopyLate(); w.Registers() && until > 0 && grantOf(h).id != w.ID {
		p := w.req.Proto
		e.sender.Disown(request.Disowned{
			Proto: p, ID: w.ID, Lease: w.req.Lease, Late: until, Vain: e.store.Late(p.Key(), until),
		})
	}
	return h
}

// nextAsk is w's next attempt, without its timing: that is set when it is sent, which may be some time later if the
// store has to be asked something first.
func (w *waiter) nextAsk() *asked {
	if w.asks { // nobody else writes of it what an ask is made of: others write tickets, and what several were told
		w.asks = false
		return &asked{ask: w.askLocked()}
	}
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	w.Asks()
	return &asked{ask: w.askLocked()}
}

// askLocked is what w asks for, as of now. It is made under the mutex, since the id and the ticket of a waiter may be
// written by the registrar.
func (w *waiter) askLocked() store.Ask {
	return store.Ask{
		ID: w.ID, Lease: w.req.Lease, Under: w.under.id, Ticket: w.Ticket(), Once: w.once,
		Waited: w.Several && w.HasWaited(),
	}
}

// rename gives a waiter a new id.
func (w *waiter) rename(id string) {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	w.Rename(id)
}

// noteBusy notes that the store answered w that another has the lock.
func (w *waiter) noteBusy() {
	w.key.mu.Lock()
	own := w.key.queueLocked().Busy(&w.Waiter)
	unset := w.why != nil && w.why == w.req.Proto.Traits().Unset
	warns := unset && !w.once && !w.key.queue.unset
	w.key.queue.unset = unset && (warns || w.key.queue.unset)
	w.key.unlock()
	if warns {
		w.engine().events.warn("a call waits for what nobody has: none was set, or the store has lost it",
			w.req.Proto.Traits().Noun, w.req.Proto.Name(), "error", w.why)
	}
	if own && w.roused == nil && w.lockSet == nil && !w.once {
		w.roused = w.Changed()
		w.engine().noteStale(w)
	}
}

// silentSince is when the requests for a key began to fail, so that waiters that come to ask one after the other share
// one patience. It is now if the last one was answered.
func (w *waiter) silentSince(now time.Duration) time.Duration {
	w.key.mu.Lock()
	defer w.key.unlock()
	return w.key.queueLocked().SilentSince(now)
}

// owes reports whether the process is still to let releases of others pass.
func (w *waiter) owes(heard store.Heard) bool {
	w.key.mu.Lock()
	defer w.key.unlock()
	return w.key.queueLocked().Owes(localqueue.Heard(heard))
}

// errBehind says that a waiter that the store refused goes back into the queue: somebody before it was refused
// as well, and asks for both, or a hold of its own process is in its way.
var errBehind = errors.New("somebody before it waits")

// stepBack notes that the store told w to wait. It reports whether w is back in the queue, behind another that was
// refused and asks for both, or behind a hold.
func (w *waiter) stepBack() (behind bool) {
	if !w.Several && !w.Registers() {
		return false
	}
	w.key.mu.Lock()
	defer w.key.unlock()
	return w.key.queueLocked().StepBack(&w.Waiter)
}

// isBehind reports whether w, whose last request is settled, is back in the queue.
func (w *waiter) isBehind() bool {
	if !w.Several {
		return false
	}
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	behind := w.Behind()
	if behind {
		w.Settled()
	}
	return behind
}

// steppedBack reports whether a waiter that asks is to go back into the queue. One of whose requests the fate is
// unknown stays and finds out.
func (w *waiter) steppedBack(refused bool) bool {
	if w.attempts.InDoubt() || w.once || w.lockSet != nil {
		return false
	}
	if refused && w.stepBack() {
		return true
	}
	return w.isBehind()
}

// The commonest mistake with contexts that carry holds cannot be told from contention when it happens: the caller uses
// the context from before Lock, and so waits for itself until its own MaxWait. What can be told is that one hold of
// this very process has been in the way for the whole wait, that it is not ending, and that the store still has it.
// That is logged, once for each hold. Work that takes longer than selfWait while others of its process wait is logged
// too, so the line names the hold instead of accusing anybody.
const (
	// selfWait is how long a waiter may stand behind one hold of its own client before that is logged: longer than most
	// work, and shorter than the time limit of most tests.
	selfWait = 5 * time.Second
	// selfAsk is when the hold is renewed for that, so that the answer of the store is there in time.
	selfAsk = selfWait - time.Second
)

// noteStale has a waiter looked at that waits for one and the same hold of its own client.
func (e *Engine) noteStale(w *waiter) {
	if !w.noted {
		w.noted = true
		w.stale.Init(func(arg any) { arg.(*waiter).stands() }, w)
	}
	e.wheel.Schedule(&w.stale, w.Since+selfAsk)
}

// stands looks at the hold that a waiter stands behind. The first time it is renewed, which asks the store whether it
// is there. The second time it is logged if the store has said so since. A hold that is not renewed ends by itself.
func (w *waiter) stands() {
	e, h := w.engine(), w.obstacle()
	switch {
	case h == nil:
	case w.behind == nil:
		w.behind, w.valid = h, h.Grant().Lease.ValidUntil()
		e.watchdog.Hurry(&h.Grant().Lease)
		e.wheel.Schedule(&w.stale, e.clock.Now()+selfWait-selfAsk)
	case w.behind == h && h.Grant().Lease.ValidUntil() > w.valid && !h.Warned.Swap(true):
		e.events.warn("waited 5s behind one hold of this process; "+
			"if the caller is inside that hold, it is passing an outer context (self-deadlock)",
			"lock", w.req.Proto.Name(), "hold", grantOf(h).id, "fence", h.Fence, "held", e.clock.Now()-h.Start())
	}
}

// obstacle is a live hold of this process that was in w's way for all of its wait: nil if there is none. A caller
// that waits for itself waits for a hold that is older than its call.
func (w *waiter) obstacle() *hold.Hold {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	for g := range w.key.grantsLocked() {
		if h := g.CurrentLocked(); h != nil && h.Start() <= w.Since && g.portion == nil &&
			w.req.Proto.Follows(g.proto.Mode()) {
			return h
		}
	}
	return nil
}

// ownHold is what a caller is told that gives up behind a hold of its own process. Nobody matches it.
type ownHold struct {
	id  string
	age time.Duration
}

func (o ownHold) Error() string {
	return fmt.Sprintf("hold %s of this process has it, for %v", o.id, o.age.Round(time.Millisecond))
}

// poll has w ask, if it is the first in its queue. It reports whether w is in the queue at all.
func (w *waiter) poll() (listed bool) {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	return w.key.queue != nil && w.key.queue.Poll(&w.Waiter)
}

// armPoll has w ask every MaxPoll, if it has a place in the store's queue and is the first by then: nobody else
// of its process asks while it is. The wheel calls, so a waiter that is served before costs neither a timer of the
// runtime's nor a channel.
//
// The timer may fire just when the waiter's call ends, and be armed again after unwatch has cancelled it. It fires once
// more then, finds the waiter out of the queue, and is left alone. If it fires while the waiter is asking, or is being
// registered, that request is what the store hears.
func (e *Engine) armPoll(w *waiter) {
	if !w.Registers() {
		return
	}
	w.polls.Init(func(arg any) {
		if w := arg.(*waiter); w.poll() {
			e.wheel.Schedule(w.polls, e.clock.Now()+e.cfg.MaxPoll)
		}
	}, w)
	e.wheel.Schedule(w.polls, e.clock.Now()+e.cfg.MaxPoll)
}

// unwatch ends what was armed for a waiter whose call ends.
func (e *Engine) unwatch(w *waiter) {
	e.wheel.Cancel(&w.stale)
	if w.polls != nil {
		e.wheel.Cancel(w.polls)
	}
}
