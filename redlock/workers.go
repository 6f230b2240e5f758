package redlock

import (
	"context"
	"sync"
)

// workers are the goroutines of the send queues.
type workers struct {
	life context.Context // ends with Close
	end  context.CancelFunc

	mu      sync.Mutex // guards all below
	closed  bool
	running sync.WaitGroup
}

// spawn runs fn in a goroutine that Close joins. It reports false if the client is closed.
func (w *workers) spawn(fn func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.running.Go(fn)
	return true
}

// areClosed reports that close was called.
func (w *workers) areClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// close has no goroutine started from now on.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}
