// Package observertest checks what an Observer is told: each Begin has one End, and each Held one Ended.
package observertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Checker is an observer that notes every call and every hold until its end. The zero Checker is ready to use, by any
// number of clients at a time.
type Checker struct {
	mu       sync.Mutex // guards all below
	open     map[*event]struct{}
	calls    []Event
	holds    []Event
	problems []string
}

// Event is a call or a hold that has ended.
type Event struct {
	lock.Call
	Took time.Duration
	Err  error
}

// event is a call or a hold that began. The context that its end is told with leads to it.
type event struct {
	what string
	call lock.Call
	over bool
}

type eventKey struct{ what string }

const (
	aCall = "call"
	aHold = "hold"
)

// Observer is the observer to give to a client.
func (c *Checker) Observer() *lock.Observer {
	return &lock.Observer{
		Begin: func(ctx context.Context, call lock.Call) context.Context { return c.begin(ctx, aCall, call) },
		Held:  func(ctx context.Context, call lock.Call) context.Context { return c.begin(ctx, aHold, call) },
		End: func(ctx context.Context, call lock.Call, waited time.Duration, err error) {
			c.end(ctx, aCall, &c.calls, Event{call, waited, err})
		},
		Ended: func(ctx context.Context, call lock.Call, held time.Duration, err error) {
			c.end(ctx, aHold, &c.holds, Event{call, held, err})
		},
	}
}

func (c *Checker) begin(ctx context.Context, what string, call lock.Call) context.Context {
	e := &event{what: what, call: call}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[*event]struct{})
	}
	c.open[e] = struct{}{}
	switch {
	case call.Name == "" || call.Kind == "":
		c.problems = append(c.problems, fmt.Sprintf("a %s without name or kind: %+v", what, call))
	case what == aCall && (call.HoldID != "" || call.Fence != 0):
		c.problems = append(c.problems, fmt.Sprintf("a call begins with a hold: %+v", call))
	case what == aHold && call.HoldID == "" && call.Kind != lock.KindMultilock:
		c.problems = append(c.problems, fmt.Sprintf("a hold without an id: %+v", call))
	}
	return context.WithValue(ctx, eventKey{what}, e)
}

func (c *Checker) end(ctx context.Context, what string, ended *[]Event, as Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*ended = append(*ended, as)
	e, _ := ctx.Value(eventKey{what}).(*event)
	began := as.Call
	if what == aCall {
		began.HoldID, began.Fence = "", 0
	}
	switch {
	case e == nil:
		c.problems = append(c.problems, fmt.Sprintf("the end of a %s that did not begin: %+v", what, as))
	case e.over:
		c.problems = append(c.problems, fmt.Sprintf("a second end of a %s: %+v", what, as))
	case e.call != began:
		c.problems = append(c.problems, fmt.Sprintf("a %s began as %+v and ended as %+v", what, e.call, as))
	case as.Took < 0:
		c.problems = append(c.problems, fmt.Sprintf("a %s took less than no time: %+v", what, as))
	case what == aCall && as.Err != nil && as.HoldID != "":
		c.problems = append(c.problems, fmt.Sprintf("a call failed and has a hold: %+v", as))
	}
	if e != nil {
		e.over = true
		delete(c.open, e)
	}
}

// Calls are those that have ended, in that order.
func (c *Checker) Calls() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.calls...)
}

// Holds are those that have ended, in that order.
func (c *Checker) Holds() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.holds...)
}

// Problems are what was wrong, and what has begun and not ended. It is asked when the clients are closed.
func (c *Checker) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append([]string(nil), c.problems...)
	for e := range c.open {
		all = append(all, fmt.Sprintf("a %s without an end: %+v", e.what, e.call))
	}
	return all
}

// Check fails a test if anything was wrong.
func (c *Checker) Check(t testing.TB) {
	t.Helper()
	for _, problem := range c.Problems() {
		t.Error("observer: " + problem)
	}
}
