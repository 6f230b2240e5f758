package pipeline

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
)

const (
	workers = links.Exchanges // with a node at the same time

	most      = 128      // calls in one exchange
	mostBytes = 64 << 10 // of their arguments
)

// node holds the calls that gather for one node, and its workers.
//
// As long as the queue is not empty, a worker is on its way to it: to append a call is to wake a worker, or to start
// one, or to find all of them in exchanges; and a worker parks only after it has found the queue empty, under mu. So no
// call is left behind.
type node struct {
	took atomic.Int64 // how long the last exchange took; 0: it was not answered

	mu     sync.Mutex // guards all below
	parked *sync.Cond // where idle workers wait, on mu
	queue  []*call
	idle   int // workers that are parked, and that nobody has woken
	alive  int // workers that were started
	over   bool
}

// patience is how long an exchange over a connection that is there may take, if it may take limit over a new one.
//
// A connection may have been forgotten by a balancer, and then nothing will ever answer. So a server that has just been
// quick has half of the time. The callers that do not get an answer by then send their requests again, under the same
// ids, within what is left of their time; by then package links has closed the connections that may have been forgotten
// as well. If it is the server that hangs, the next exchanges have the whole time. Where a command has no more time
// than a busy machine may stand still, all of it is needed for the first attempt.
func (n *node) patience(limit time.Duration) time.Duration {
	const least, quick = time.Second, 8
	if took := n.took.Load(); limit >= least && took > 0 && took < int64(limit/quick) {
		return limit / 2
	}
	return limit
}

// unasked is how long the exchange before the first one took: nothing speaks against the node. There may be a
// connection all the same, by which a cluster was asked for its map.
const unasked = 1

// answered notes what became of an exchange.
func (n *node) answered(took time.Duration, failure error) {
	if _, said := errors.AsType[redis.Error](failure); failure != nil && !said {
		took = 0
	}
	n.took.Store(int64(took))
}

func newNode() *node {
	n := &node{}
	n.took.Store(unasked)
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

// take waits for calls and returns as many as go into one exchange, marked as carried. It returns none after end.
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
		if c.carry(now) {
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
