package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Turns of waiters that stand in a queue in the store; see package localqueue. There the order of all processes is
// kept, so a hold is passed in memory only as far as the store has said that the next ones are of this process. Those
// that were served so keep their places in the store's queue for the time of the run: to take each away as it is
// served would be a request for each turn, which is what passing in memory saves. The release at the end of the run
// takes all of them away, before it looks whose turn is next.

// turnOf is w's request for the next turn of h. The place of whoever has one in the store's queue stays there until the
// release, which takes it away: what is sent for the hold goes on by a protocol that knows.
func (h *Hold) turnOf(w *waiter) Request {
	req := w.req
	if w.Registers {
		req.Proto = h.proto.Serving(w.ID)
	}
	return req
}

// leavePlaces takes away the places of those that had turns of a hold which is gone, or in other hands. The request is
// the release of one of them: that touches no hold, unless the store gave the lock to that place meanwhile, and then
// it goes to the next.
func (e *Engine) leavePlaces(h *Hold) {
	if id := h.proto.Served(); id != "" {
		e.sender.Reclaim(request.Orphan{Proto: h.proto, ID: id}, h.Longest())
	}
}

// longTurn is for how long a turn goes on before the places of those that had theirs are taken away during it: until
// then, whoever looks at the store's queue takes them for waiters. It is the last turn of its run by then.
const longTurn = 50 * time.Millisecond

// expectLongTurn has that done, for a turn that nobody else knows of yet.
func (h *Hold) expectLongTurn() {
	if h.proto.Served() == "" {
		return
	}
	h.longTurn = new(watchdog.Timer)
	h.longTurn.Init(func(arg any) {
		h := arg.(*Hold)
		if h.Live() { // if it ends now, its release takes the places away, and so may this
			// Refused when Close is at work, which ends the hold.
			h.engine.sender.Spawn(func() { h.engine.leavePlaces(h) })
		}
	}, h)
	h.engine.wheel.Schedule(h.longTurn, h.Start()+longTurn)
}

// poll has w ask, if it is the first in its queue.
func (t *table) poll(w *waiter) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Poll(&w.Waiter)
}

// polls tells a waiter that has a place in the store's queue when it may be time to be heard of, if it is the first
// of its process by then: nobody else of it asks.
type polls struct{ ticker *time.Ticker }

// due is written to every MaxPoll from the first call on; nil for other waiters.
func (p *polls) due(e *Engine, w *waiter) <-chan time.Time {
	if p.ticker == nil {
		if !w.Registers {
			return nil
		}
		p.ticker = time.NewTicker(e.cfg.MaxPoll)
	}
	return p.ticker.C
}

// stop ends the polls of a waiter whose call ends.
func (p *polls) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
