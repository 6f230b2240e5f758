package engine

import "errors"

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
