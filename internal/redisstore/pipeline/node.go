package pipeline

import (
	"slices"
	"sync"
	"time"
)

const (
	// workers is how many exchanges with a node are under way at the same time. With four, 64 names that are free lose
	// a seventh at a distance of 0.3 ms; one is at its limit with 512.
	workers = 8

	most      = 128      // calls in one exchange
	mostBytes = 64 << 10 // of their arguments
)

// node holds the calls that gather for one node, and its workers.
//
// As long as the queue is not empty, a worker is on its way to it: to append a call is to wake a worker, or to start
// one, or to find all of them in exchanges; and a worker parks only after it has found the queue empty, under mu. So no
// call is left behind.
type node struct {
	mu     sync.Mutex // guards all below
	parked *sync.Cond // where idle workers wait, on mu
	queue  []*call
	idle   int // workers that are parked, and that nobody has woken
	alive  int // workers that were started
	over   bool
}

func newNode() *node {
	n := &node{}
	n.parked = sync.NewCond(&n.mu)
	return n
}

// add appends a call and has it sent, by an idle worker or by one more that start starts. After end it refuses.
func (n *node) add(c *call, start func(*node)) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return false
	}
	n.queue = append(n.queue, c)
	switch {
	case n.idle > 0:
		n.idle-- // here and not when it wakes: the next call wakes another one
		n.parked.Signal()
	case n.alive < workers:
		n.alive++
		start(n)
	}
	return true
}

// take waits for calls and returns as many as go into one exchange, marked as sent. It returns none after end.
func (n *node) take(into []*call) []*call {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		if into = n.dequeue(into, time.Now()); len(into) > 0 || n.over {
			return into
		}
		n.idle++
		n.parked.Wait()
	}
}

// dequeue drops the calls that nobody waits for, or whose time is over.
func (n *node) dequeue(into []*call, now time.Time) []*call {
	passed, size := 0, 0
	for _, c := range n.queue {
		if len(into) == most || len(into) > 0 && size+c.size > mostBytes {
			break
		}
		passed++
		if c.send(now) {
			into, size = append(into, c), size+c.size
		}
	}
	n.queue = slices.Delete(n.queue, 0, passed)
	return into
}

// end has the workers return when nothing is left.
func (n *node) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	n.parked.Broadcast()
}
