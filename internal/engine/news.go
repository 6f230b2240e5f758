package engine

import (
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// maxNews bounds the events that wait for an observer that is slower than they come.
const maxNews = 4096

// news tells the observer and the log. What happens in a caller's own goroutine is told there. What the
// watchdog finds out is told by a goroutine of its own, so that an observer or a log that blocks, panics
// or locks again can keep neither renewals nor losses waiting.
type news struct {
	to    Events
	log   *slog.Logger
	clock *watchdog.Clock

	mu      sync.Mutex // guards all below
	queue   []func()
	running bool
	closed  bool
	dropped int
	done    sync.WaitGroup
}

func newNews(to Events, log *slog.Logger, clock *watchdog.Clock) *news {
	return &news{to: to, log: log, clock: clock}
}

func (n *news) waiting(name string) {
	if n.to.Waiting != nil {
		n.guard(func() { n.to.Waiting(name) })
	}
}

// acquired tells how long was waited since an instant of the clock.
func (n *news) acquired(name string, since time.Duration) {
	if n.to.Acquired != nil {
		waited := n.clock.Now() - since
		n.guard(func() { n.to.Acquired(name, waited) })
	}
}

// released tells how long was held since an instant of the clock.
func (n *news) released(name string, since time.Duration, err error) {
	if n.to.Released != nil {
		held := n.clock.Now() - since
		n.guard(func() { n.to.Released(name, held, err) })
	}
}

func (n *news) renewed(name string, err error) {
	if n.to.Renewed != nil {
		n.post(func() { n.to.Renewed(name, err) })
	}
}

func (n *news) lost(err error) {
	n.post(func() {
		n.log.Warn("a lock was lost", "error", err)
		if n.to.Lost != nil {
			n.to.Lost(err)
		}
	})
}

// warn logs without waiting for it.
func (n *news) warn(text string, args ...any) {
	n.post(func() { n.log.Warn(text, args...) })
}

// post queues an event, and starts the goroutine that tells it if there is none.
func (n *news) post(tell func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.queue) >= maxNews {
		n.dropped++
		return
	}
	n.queue = append(n.queue, tell)
	if !n.running {
		n.running = true
		n.done.Add(1)
		go n.tell()
	}
}

func (n *news) tell() {
	defer n.done.Done()
	for {
		n.mu.Lock()
		if len(n.queue) == 0 {
			n.running, n.queue = false, nil
			dropped := n.dropped
			n.dropped = 0
			n.mu.Unlock()
			if dropped > 0 {
				n.log.Warn("the observer is too slow; events were dropped", "events", dropped)
			}
			return
		}
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		n.guard(next)
	}
}

// guard keeps a panic of the observer from ending a Lock that has succeeded, whose hold nobody would
// ever unlock then, or a goroutine that others depend on.
func (n *news) guard(tell func()) {
	defer func() {
		if r := recover(); r != nil {
			n.log.Error("the observer panicked", "panic", r)
		}
	}()
	tell()
}

// close waits until everything was told, for at most limit.
func (n *news) close(limit time.Duration) {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	told := make(chan struct{})
	go func() {
		n.done.Wait()
		close(told)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
		n.log.Warn("the observer did not return in time; its goroutine is left behind")
	}
}
