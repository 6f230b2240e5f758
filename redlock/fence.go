package redlock

import (
	"slices"
	"time"
)

// virtual is the time that the engine takes for the server's, in µs: this client's own clock. Only requests to a node
// use that node's time.
func virtual(now time.Duration) int64 { return now.Microseconds() + 1 }

// window is how far ahead of its own clock a node accepts a token. It must be less than the guard time: a
// server that forgot a token has no vote until its clock has passed it.
//
// With a guard time of 30 s a node accepts a token of up to 15 s ahead. If it then forgets the token in a
// restart, it is without a vote until 30 s later, when its clock has passed the token. What it asks for from
// then on is greater.
func (c *Client) window() int64 { return (c.guard / 2).Microseconds() }

// propose returns the fencing token to offer the nodes: the time that the fastest of their clocks will show when the
// offer arrives, by our estimate. A clock that is far ahead of the others is ignored, because the others would not
// accept its time. A wrong estimate only costs a round trip.
func (c *Client) propose(now time.Duration) int64 {
	const least = 5 * time.Millisecond
	var clocks []int64
	slack := least
	for _, n := range c.nodes {
		if at := c.clocks.NotAfter(n.addr, now, 0); at > 0 {
			clocks = append(clocks, at)
		}
		slack = max(slack, least+2*n.delay())
	}
	slack = min(slack, c.guard/8)
	token := time.Now().UnixMicro()
	if len(clocks) > 0 {
		slices.Sort(clocks)
		limit := clocks[len(clocks)/2] + (c.guard / 4).Microseconds()
		for _, at := range clocks {
			if at <= limit {
				token = at
			}
		}
	}
	return c.grown(token + slack.Microseconds())
}

// grown makes this client's tokens grow even without the nodes' help, while the clocks agree.
//
// Two calls that propose at the same time get different tokens: one of them fails to swap, reads the other's,
// and takes a greater one.
func (c *Client) grown(token int64) int64 {
	for {
		last := c.newest.Load()
		if last-token > (c.guard / 8).Microseconds() {
			return token // the clocks were set back; the nodes say what they accept
		}
		next := max(token, last+1)
		if c.newest.CompareAndSwap(last, next) {
			return next
		}
	}
}

// delay is how long the node has taken to answer recently.
func (q *sendQueue) delay() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.health.rtt
}

// maxSpare is the maximum number of tokens that a hold has for the turns that follow.
const maxSpare = 1023

// reserveLocked settles the tokens of the hold: the newest, and the unused ones right below it. Each node of a quorum
// granted and knows of no token at or above the floor. The nodes will have stored the newest before any of them is
// used.
//
// An example: two nodes grant, and the token is 5,000. One had stored 100 and says that 4,899 numbers right
// below 5,000 are free, the other had stored 4,990 and says 9. The floor is 4,991, the greater of the two, so
// the hold has the tokens 4,991 to 5,000, and uses them in this order. Numbers that any of the two nodes may
// have given to somebody else are below the floor.
func (h *hold) reserveLocked(newest int64) {
	h.fence = newest
	h.spare = min(max(newest-h.floor, 0), maxSpare)
}
