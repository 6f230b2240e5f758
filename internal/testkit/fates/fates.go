// Package fates decides what becomes of single requests of a client, for tests that stand between a client and its
// store and see each request before it is sent. It counts requests by their kinds and knows no protocol: the test says
// what kinds there are, and does to a request what its [Rule] says.
package fates

import (
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = time.Minute

// Fate is what becomes of a request.
type Fate int

// The fates.
const (
	CutAfter Fate = iota // it is carried out, and the connection breaks before the answer comes
	Silence              // it is carried out, and there is no answer
	Lost                 // it does not arrive, and the connection breaks
	Refused              // it is not carried out, and the server says so
	Late                 // it arrives when the rule says, and the connection broke long before
	Slow                 // it arrives when the rule says, and is answered
)

// Wire counts what clients send, and decides the fate of some of it. The zero value decides nothing.
type Wire struct {
	mu    sync.Mutex // guards what follows
	sent  map[string]int
	rules []*Rule
}

// Rule decides the fate of requests of a kind.
type Rule struct {
	Kind    string
	Fate    Fate
	Arrives <-chan struct{} // closed when late and slow requests arrive
	Done    sync.WaitGroup  // counts what carries out late requests

	times   int           // how often it still applies; below 0: always; guarded by the mutex of its wire
	met     chan struct{} // has an element for each request that it decided, up to some
	arrives chan struct{}
}

// On decides the fate of the next request of a kind.
func (w *Wire) On(kind string, fate Fate) *Rule { return w.OnEach(kind, fate, 1) }

// OnEach decides the fate of as many requests of a kind, or of all if times is below 0.
func (w *Wire) OnEach(kind string, fate Fate, times int) *Rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	arrives := make(chan struct{})
	r := &Rule{
		Kind: kind, Fate: fate, Arrives: arrives, times: times, met: make(chan struct{}, 100), arrives: arrives,
	}
	w.rules = append(w.rules, r)
	return r
}

// Off ends all rules.
func (w *Wire) Off() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = nil
}

// Note counts a request, and returns the rule that decides it, or nil.
func (w *Wire) Note(kind string) *Rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent == nil {
		w.sent = make(map[string]int)
	}
	w.sent[kind]++
	for _, r := range w.rules {
		if r.Kind == kind && r.times != 0 {
			r.times--
			return r
		}
	}
	return nil
}

// Count is how many requests of a kind were sent.
func (w *Wire) Count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[kind]
}

// Total is how many requests were sent.
func (w *Wire) Total() (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.sent {
		n += int64(of)
	}
	return n
}

// Meets notes that a request has met its fate.
func (r *Rule) Meets() {
	select {
	case r.met <- struct{}{}:
	default:
	}
}

// Wait waits until a request has met its fate.
func (r *Rule) Wait(t testing.TB) {
	t.Helper()
	servers.Receive(t, patience, r.met, "a request meets its fate: "+r.Kind)
}

// Arrive has late and slow requests arrive, and returns when the late ones were carried out, or refused.
func (r *Rule) Arrive() {
	close(r.arrives)
	r.Done.Wait()
}
