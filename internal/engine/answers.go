package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// toldBusy notes that the store answered w that another has the lock.
func (w *waiter) toldBusy() {
	w.key.mu.Lock()
	defer w.key.unlock()
	w.key.queueLocked().Busy(&w.Waiter)
}

// answered notes whether the store answers the waiter that asks for a key. It returns when the silence began, so that
// waiters that come to ask one after the other share one patience.
func (w *waiter) answered(err error) time.Duration {
	w.key.mu.Lock()
	defer w.key.unlock()
	return w.key.queueLocked().Answered(err, w.key.table.engine.clock.Now())
}

// trouble is why the store does not answer, for a waiter that no local hold is in the way of.
func (w *waiter) trouble() error {
	w.key.mu.Lock()
	defer w.key.unlock()
	return w.key.queueLocked().Trouble(&w.Waiter)
}

// owes reports whether the process is still to let releases of others pass.
func (w *waiter) owes(heard store.Count) bool {
	w.key.mu.Lock()
	defer w.key.unlock()
	return w.key.queueLocked().Owes(localqueue.Heard(heard))
}

// share ends the wait of everybody who came before an instant: one looked for all, at what no waiter takes from another
// (a latch that is open is open to all of them).
func (t *table) share(proto store.Protocol, asked time.Duration) {
	k := t.lock(proto.Key())
	defer k.unlock()
	k.queueLocked().Share(asked, func(w *localqueue.Waiter) { waiterOf(w).hold = nothing })
}
