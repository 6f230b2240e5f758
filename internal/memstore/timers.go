package memstore

import (
	"sync"
	"time"
)

// timers are functions that are called later, of which none runs any more when stop has returned.
type timers struct {
	mu      sync.Mutex // guards all below
	pending map[*time.Timer]struct{}
	running sync.WaitGroup
	stopped bool
}

// after calls fn in d, in a goroutine of its own.
func (t *timers) after(d time.Duration, fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if t.pending == nil {
		t.pending = make(map[*time.Timer]struct{})
	}
	t.running.Add(1)
	// Under the race detector Go 1.26 crashes if goroutines of one synctest bubble start timers at the same
	// time that are due at once: it runs each in the goroutine that starts it, and all with the one race
	// context of the bubble.
	if d <= 0 {
		go func() {
			defer t.running.Done()
			fn()
		}()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		defer t.running.Done()
		t.mu.Lock() // which after holds until timer is set
		delete(t.pending, timer)
		t.mu.Unlock()
		fn()
	})
	t.pending[timer] = struct{}{}
}

// stop drops what is not due, and waits for what is.
func (t *timers) stop() {
	t.mu.Lock()
	t.stopped = true
	for timer := range t.pending {
		if timer.Stop() {
			t.running.Done()
		}
	}
	t.pending = nil
	t.mu.Unlock()
	t.running.Wait()
}
