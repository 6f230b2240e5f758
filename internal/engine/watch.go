package engine

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/watchdog"
)

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

// watch is what the wheel looks at while a waiter stands in its queue. Only the wheel's goroutine uses behind and
// valid.
type watch struct {
	stale  watchdog.Timer  // notes that it stands behind its own client for long
	behind *hold.Hold      // that it stood behind when that was looked at first
	valid  time.Duration   // until when that could be relied on then
	polls  *watchdog.Timer // has it ask now and then; nil unless the store keeps a queue for its kind
}

// noteStale has a waiter looked at that waits for one and the same hold of its own client.
func (e *Engine) noteStale(w *waiter) {
	w.stale.Init(func(arg any) { e.stands(arg.(*waiter)) }, w)
	e.wheel.Schedule(&w.stale, e.clock.Now()+selfAsk)
}

// stands looks at the hold that a waiter stands behind. The first time it is renewed, which asks the store whether it
// is there. The second time it is logged if the store has said so since. A hold that is not renewed ends by itself.
func (e *Engine) stands(w *waiter) {
	h := w.obstacle()
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

// obstacle is a live hold of this process that was in w's way for all of its wait: nil if there is none. A waiter that
// waits for itself stands behind one that is older than its call.
func (w *waiter) obstacle() *hold.Hold {
	w.key.mu.Lock()
	defer w.key.mu.Unlock()
	for g := range w.key.grantsLocked() {
		if h := g.CurrentLocked(); h != nil && h.Start() <= w.Since && w.req.Proto.Excludes(g.proto.Mode()) {
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
