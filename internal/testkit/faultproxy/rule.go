package faultproxy

import (
	"sync"
	"testing"
	"time"
)

// waitLimit bounds every wait of a test for something that must happen.
const waitLimit = 15 * time.Second

// Rule applies an action to certain requests. [Proxy.On] makes rules.
type Rule struct {
	match  Match
	action Action

	mu      sync.Mutex    // guards what follows
	times   int           // how often it applies, -1 for always
	taken   int           // requests it was applied to
	fired   int           // of these, how many the action is done with
	changed chan struct{} // closed and replaced when fired grows
}

// Times sets how often the rule applies in all: once by default, always if n is -1, and never
// again if it has applied n times already.
func (r *Rule) Times(n int) *Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = n
	return r
}

// Fired returns how often the rule's action has happened. An action counts when the fault is in
// place: for a lost, cut or held reply when Redis has executed the request, for a lost or held
// request when it has reached the proxy, for [Duplicate] when Redis has answered the copy too.
func (r *Rule) Fired() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fired
}

// Wait waits until the rule has fired n times, and fails the test if that takes too long.
func (r *Rule) Wait(t testing.TB, n int) {
	t.Helper()
	limit := time.NewTimer(waitLimit)
	defer limit.Stop()
	for {
		r.mu.Lock()
		fired, changed := r.fired, r.changed
		r.mu.Unlock()
		if fired >= n {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("faultproxy: the rule fired %d times instead of %d within %v",
				fired, n, waitLimit)
		}
	}
}

// take reports whether the rule applies to a request, and counts it if so.
func (r *Rule) take(request Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times >= 0 && r.taken >= r.times || !r.match(request) {
		return false
	}
	r.taken++
	return true
}

func (r *Rule) fire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fired++
	close(r.changed)
	r.changed = make(chan struct{})
}
