package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// toldBusy notes that Redis answered w that another has the lock.
func (t *table) toldBusy(w *waiter) {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	q.Busy(&w.Waiter)
}

// answered notes whether Redis answers the one that asks for a key. It returns since when it does not, so that
// those that come to ask one after the other share one patience.
func (t *table) answered(w *waiter, err error) time.Duration {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return q.Answered(err, t.engine.clock.Now())
}

// trouble is why Redis does not answer, for a waiter that no local hold is in the way of.
func (t *table) trouble(w *waiter) error {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return q.Trouble(&w.Waiter)
}

// owes reports whether the process is still to let releases of others pass.
func (t *table) owes(w *waiter, heard store.Count) bool {
	p, q := t.queue(w.key())
	defer p.mu.Unlock()
	return q.Owes(localqueue.Heard(heard))
}

// share ends the wait of everybody who came before an instant: one looked for all, at what no waiter takes from another
// (a latch that is open is open to all of them).
func (t *table) share(proto store.Protocol, asked time.Duration) {
	p, q := t.queue(proto.Key())
	defer p.mu.Unlock()
	q.Share(asked, func(w *localqueue.Waiter) { waiterOf(w).hold = nothing })
	p.tidy(proto.Key())
}
