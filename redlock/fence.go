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
func (l *lane) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rtt
}

// maxSpare is the maximum number of tokens that a hold has for the turns that follow.
const maxSpare = 1023

// reserveLocked settles the tokens of the hold: the newest, and the unused ones right below it. Each node of a quorum
// granted and knows of no token at or above the floor. The nodes will have stored the newest before any of them is
// used.
func (h *hold) reserveLocked(newest int64) {
	h.fence = newest
	h.spare = min(max(newest-h.floor, 0), maxSpare)
}
