package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

var errStale = errors.New("the grant was confirmed too late: its lease was nearly over")

// begin has w ask the store from now on. It listens to nothing yet, and was told nothing yet.
func (w *waiter) begin() { w.ears, w.lastWord = ears{}, lastWord{} }

// backoff is the next of some pauses, each of which is twice as long as the one before.
type backoff time.Duration

// next returns the pause, and doubles the following one up to most.
func (b *backoff) next(most time.Duration) time.Duration {
	pause := time.Duration(*b)
	*b = backoff(min(2*pause, most))
	return pause
}

// acquire tries until it holds: try, subscribe, try again, wait for a message, the holder's end, or the
// poll interval.
//
// Why no wake-up is lost. A release is published on the channel in the same script that releases. It happens either
// before the attempt that was answered "busy", and then that attempt would have been granted; or after the subscription
// stood, and then its message is received; or in between. For those in between, the confirmation of the subscription
// counts as a message: the waiter asks once more. Only then does it wait. Messages that come while an attempt is under
// way stay in the ticket, and awaitWakeup finds them. What can still be lost is a message itself, when a connection
// breaks: the ticket is ready then too (a listener may have missed something), and if even that fails, the
// lease of the holder and the poll interval bound the wait.
//
// For example, B waits for what A holds:
//
//	B asks, and the store says "busy, 28 s"
//	            A releases: PUBLISH reaches nobody
//	B subscribes; the confirmation arrives
//	B asks again, because of the confirmation, and is granted the lock
//
// Had A released before B's first request, that would have been granted; had it released after the confirmation, B
// would have the message.
//
// A process that is already subscribed, because others of it wait or waited, lets the turns of other processes pass
// before it asks (repay). One that is not subscribed but was the last to end a run waits out the pause that it left
// to others.
func (e *Engine) acquire(limited, ctx context.Context, w *waiter) (*hold.Hold, error) {
	w.begin()
	defer w.unsubscribe()
	channel := w.req.Proto.Channel()
	w.leaves(limited, w.left)
	if channel != "" && e.store.Heard(channel) != (store.Heard{}) {
		w.ticket = e.store.Listen(channel, w.req.Proto.Key())
		w.repay(limited)
	} else {
		w.leaves(limited, w.out)
	}
	silence, nap := backoff(request.FirstPause), backoff(request.FirstPause)
	for {
		if w.steppedBack(false) {
			return nil, errBehind
		}
		h, pttl, err := w.turn(limited)
		if h != nil {
			return e.given(w, h), nil
		}
		if limited.Err() != nil || e.sender.Closed() || errors.Is(err, request.ErrAbandoned) {
			return nil, w.giveUpAsking(limited, ctx)
		}
		if turned(err) {
			w.abandon()
			return nil, err
		}
		if err != nil {
			if err := w.failed(err); err != nil {
				w.abandon()
				return nil, err
			}
			e.sender.Pause(limited, silence.next(request.LastPause))
			continue
		}
		silence = backoff(request.FirstPause)
		if w.req.OnBusy != nil {
			w.req.OnBusy()
		}
		if w.steppedBack(true) {
			return nil, errBehind
		}
		if channel == "" { // nobody publishes a release
			at := nap.next(e.cfg.MaxPoll)
			e.sender.Pause(limited, min(at/2+rand.N(at), pttl+time.Millisecond))
			continue
		}
		w.awaitWakeup(limited, pttl)
	}
}

// giveUpAsking has a waiter leave that asks and whose wait has ended, and returns the error of its call.
func (w *waiter) giveUpAsking(limited, ctx context.Context) error {
	told := w.told()
	w.abandon()
	return w.gaveUp(limited, ctx, told)
}

// try is one attempt of a waiter that stands at the head of its queue, repeated once or twice if the
// reply was lost: then the caller would be told "unavailable" though a second look, by the same id, tells for certain
// whether the first attempt took the lock. It never waits for the lock to become free. Whatever it ends with,
// abandon sees to what its attempts may have left. Where the lock may be idle in another process, which was told, it
// asks once more when that has had the time to release it; a set asks once more for each such member.
//
// All attempts together have the time of one request. A connection that breaks leaves time for another one; a server
// that hangs takes all of it, and the call fails.
func (e *Engine) try(limited, ctx context.Context, w *waiter) (*hold.Hold, error) {
	w.begin()
	end := e.clock.Now() + e.sender.Limit(w.req.Lease)
	var err error
	for n, told := 0, int32(0); n < 3; {
		var h *hold.Hold
		began := e.clock.Now()
		h, err = w.attemptUntil(limited, n > 0 || told > 0, end)
		if h != nil {
			return h, nil
		}
		if (err == nil || turned(err)) && w.recalled > told {
			told = w.recalled
			e.sender.Pause(limited, min(recallTime(e.clock.Now()-began), end-e.clock.Now()))
			if limited.Err() == nil && !e.sender.Closed() {
				continue
			}
		}
		n++
		if turned(err) {
			w.abandon()
			return nil, err
		}
		if err != nil && (limited.Err() != nil || e.sender.Closed()) {
			return nil, w.giveUpAsking(limited, ctx)
		}
		if store.FaultOf(err) != store.FaultAmbiguous || isShortfall(err) || e.clock.Now() >= end {
			break
		}
	}
	told := w.told()
	w.abandon()
	switch {
	case err == nil:
		return nil, e.busy(w.req.Proto, w.why)
	case told.answer != nil && !final(err): // another's request was answered since, or granted
		return nil, e.busy(told.of, told.answer)
	case w.last != nil: // which says more than that a repetition was left, or not sent
		err = w.last
	}
	return nil, e.unavailable(w.req.Proto, err)
}

// attemptUntil is an attempt that, if it is a repetition, is left at end: the first one has that limit by itself.
func (w *waiter) attemptUntil(ctx context.Context, again bool, end time.Duration) (*hold.Hold, error) {
	if again {
		left, cancel := context.WithTimeout(ctx, end-w.engine().clock.Now())
		defer cancel()
		ctx = left
	}
	h, _, err := w.attempt(ctx)
	return h, err
}

// failed decides whether an attempt without an answer is followed by another one. A call gives up when
// the store has said nothing for a whole lease.
//
// The lease is counted from the last answer to anybody of this process who asked for the key, not from this caller's
// first attempt. Otherwise a hundred callers that stand in the queue while the store is away would each wait for a
// whole lease, one after the other, and the last would give up after a hundred of them.
//
// With minimum replicas there may be a grant that too few of them confirmed. It is taken back at once, so that the
// caller who is told of the shortfall does not keep others out for a lease.
func (w *waiter) failed(err error) error {
	e := w.engine()
	if isShortfall(err) {
		for _, req := range w.all() {
			e.takeBack(req, w.ID)
		}
	}
	if final(err) {
		return e.unavailable(w.req.Proto, err)
	}
	if now := e.clock.Now(); now-w.silentSince(now) > e.cfg.Lease {
		return e.unavailable(w.req.Proto, err)
	}
	return nil
}

// final reports that another attempt would have the same answer.
func final(err error) bool {
	kind := store.FaultOf(err)
	return kind == store.FaultConflict || kind == store.FaultDefinite || isShortfall(err)
}

// Unanswered reports that a call ended with err because the store did not answer: to go on may help, as a call that
// waits does by itself.
func (e *Engine) Unanswered(err error) bool {
	return errors.Is(err, e.cfg.Errors.Unavailable) && !final(err)
}

// awaitWakeup waits for a reason to try again. The first time it subscribes, and the reason is that the
// subscription stands: what was released before it did would not be heard of otherwise (see acquire).
//
// The other reasons: a message; a message of another channel, on which a hold of another kind is released; a hold that
// was passed to this waiter in memory while it waited here (roused); the end of the holder's lease by its own account,
// plus a millisecond because expiry in Redis is that coarse; and the poll interval, which is for what no message tells
// (a key that was deleted by hand). Where there is no channel it is not called: the waiter asks at growing, random
// intervals, so that many waiters do not ask in step.
//
// Before it returns it takes what is ready in both tickets. Every message up to that moment is covered by the attempt
// that follows, so it would only cause a second attempt for the same release. A message that comes after is left.
func (w *waiter) awaitWakeup(ctx context.Context, pttl time.Duration) {
	e := w.engine()
	patience := min(pttl+time.Millisecond, w.patience(pttl))
	if w.ticket == nil {
		_ = crash.At(crash.Subscribe)
		w.ticket = e.store.Listen(w.req.Proto.Channel(), w.req.Proto.Key())
		w.ready = w.ticket.Ready()
	}
	var also <-chan struct{}
	if w.also == nil && w.alsoOn != "" { // its confirmation wakes too, so nothing is missed
		w.also = e.store.Listen(w.alsoOn, "")
	}
	if w.also != nil {
		also = w.also.C()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.ready:
		w.ready = nil
		_ = crash.At(crash.Subscribed)
		w.pace = nil
	case <-w.ticket.C():
		w.pace = nil
		w.woken(ctx)
	case <-also:
	case <-w.roused:
		if w.Size == 0 {
			w.repay(ctx)
		}
	case <-timer.C:
	case <-ctx.Done():
	case <-e.sender.Closing():
	}
	for range 2 {
		select { // the attempt that follows covers every wake-up so far
		case <-w.ticket.C():
		case <-also:
		default:
		}
	}
}

// woken tells a message from the confirmation of the subscription, which wakes as well: nothing is heard before it.
func (w *waiter) woken(ctx context.Context) {
	if w.ready != nil {
		w.ready = nil
		_ = crash.At(crash.Subscribed)
		return
	}
	_ = crash.At(crash.Wake)
	w.repay(ctx)
}

// repay lets as many releases of others pass as the last run of turns here made the process owe: otherwise
// processes that are quick would give the lock to one another for ever, and one that is slower to wake
// would never get it.
//
// The releases are counted, not waited out. Where all processes count, they have the lock in turn, and it is free
// for no longer than the next one needs to ask: the others owe something then. If one among them does not count,
// as Redisson does not, all the others owe something when it is its turn, and it has as long as the
// first of them is patient.
//
// For example, three processes A, B and C contend. A ends a run, and its release is received by B and C: A owes two. B
// and C owe nothing, ask at once, and B gets the lock. When B ends its run it owes two, and A owes one. C, which owes
// nothing, asks at once; A waits for one message more, for a few milliseconds at most. After C's run A has nothing left
// to wait for.
//
// The debt does not shrink because the wait for a message ended. If it ended because the process whose turn it is holds
// for long, the attempt finds that out; and with a smaller debt two processes would think that it is their turn. As
// every message reduces it by one, the debt ends all the same.
func (w *waiter) repay(ctx context.Context) {
	e := w.engine()
	if !w.owes(w.ticket.Heard()) {
		return
	}
	timer := time.NewTimer(courtesy())
	defer timer.Stop()
	for {
		select {
		case <-w.ticket.C():
		case <-w.roused:
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-e.sender.Closing():
			return
		}
		if !w.owes(w.ticket.Heard()) {
			return
		}
		timer.Reset(courtesy())
	}
}

// leaves leaves the lock to others until an instant. A call that has less time than that asks when half of it is over.
func (w *waiter) leaves(ctx context.Context, until time.Duration) {
	if until == 0 {
		return
	}
	pause := until - w.engine().clock.Now()
	if end, ok := ctx.Deadline(); ok {
		pause = min(pause, time.Until(end)/2)
	}
	if pause > 0 {
		w.engine().sender.Pause(ctx, pause)
	}
}

// courtesy is how long a release is left to others. It is random, so that several processes do not all ask at once when
// the release that they wait for does not come. A process that is on its way to ask needs a round trip and the time to
// be scheduled: a few milliseconds is more than that nearly always, and little beside the poll interval.
func courtesy() time.Duration { return time.Millisecond + rand.N(localqueue.RunPause) }

// unsubscribe leaves the channels. The subscription itself stays for a while, for the next waiter of this process.
func (w *waiter) unsubscribe() {
	for _, t := range []store.Ticket{w.ticket, w.also} {
		if t != nil {
			t.Leave()
		}
	}
}

// abandon leaves the queue without a hold. What may have been granted unknown to us is released, and so is
// the place that a queue in the store keeps for it.
//
// The order matters. First those who come behind are told of a lapse that only this waiter's lost answer may have
// mentioned. Then the id is given up if its fate is unknown, under which nothing may be asked any more. Then the waiter
// leaves the queue, at which the next one begins to ask. A hold that was passed to it at that very moment is not lost:
// leaving reports it, and quit passes it on.
func (w *waiter) abandon() {
	if w.mayHaveLapsed {
		w.engine().lapsed(w)
	}
	w.renounce()
	left := w.engine().quit(w)
	if w.lockSet != nil {
		w.lockSet.id, w.lockSet.attempts = w.ID, w.attempts // it may go on in another queue
		return
	}
	w.engine().leaveStore(w, left)
}

// leaveTime is how long a call that gave up waits at most until its place in the store's queue is gone: longer than a
// round trip in most networks, and too short for its caller to notice.
const leaveTime = 10 * time.Millisecond

// leaveStore takes away what a waiter that left its queue may have in the store, or come to have, and what no lease
// ends: a place in a fair lock's queue, a gate that keeps readers out, or a number that a copy of its request counts
// down. Its id is released at once, and until no copy can come.
func (e *Engine) leaveStore(w *waiter, left localqueue.Remains) {
	if left.ID != "" && !w.once && w.req.lasts() {
		late := max(w.attempts.CopyLate(), store.Late(left.Late))
		if w.req.Proto.Traits().Queues {
			e.leavePlace(w, left.ID, late)
			return
		}
		e.disown(w.req, left.ID, late, 0)
	}
}

// leavePlace is leaveStore for a waiter in the store's queue. It waits for a moment until the store has answered:
// otherwise the place could still be given the turn when the call has returned, and others would be refused meanwhile.
func (e *Engine) leavePlace(w *waiter, id string, late store.Late) {
	tried := make(chan struct{}, 1)
	e.sender.Disown(request.Disowned{Proto: w.req.Proto, ID: id, Lease: w.req.Lease, Late: late, Tried: tried})
	timer := time.NewTimer(leaveTime)
	defer timer.Stop()
	select {
	case <-tried:
	case <-timer.C:
	case <-e.sender.Closing():
	}
}
