// Package serverclock estimates the clocks of Redis servers from the answers of their scripts.
package serverclock

import (
	"sync"
	"time"
)

// Clocks estimates each node's clock from the times that its scripts return. A request carries a
// not-after by that clock, and a node that receives it later refuses it. So an estimate need not be
// precise, only based on the past: one that is behind costs a refusal, which carries the right time;
// one that is ahead widens the window in which an abandoned request may still be carried out.
type Clocks struct {
	mu    sync.Mutex // guards nodes
	nodes map[string]reading
}

// reading is one answer: the server's clock was ahead of ours by offset, plus or minus slack.
type reading struct {
	offset, slack time.Duration
	at            time.Duration
}

// fade is how long a precise reading is preferred to a newer, less precise one.
const fade = 10 * time.Second

// NotAfter is the server time, in µs, that lies limit ahead of now. It is 0 if nothing is known of the
// node, which then refuses the request and returns its time.
func (c *Clocks) NotAfter(node string, now, limit time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[node]
	if !ok {
		return 0
	}
	return (now + r.offset + limit).Microseconds()
}

// Past reports whether the node's clock is past notAfter, however far off the estimate may be.
func (c *Clocks) Past(node string, now time.Duration, notAfter int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[node]
	return ok && (now+r.offset-r.slack).Microseconds() > notAfter
}

// Local is the local instant at which the node's clock will show server, by the estimate.
func (c *Clocks) Local(node string, server int64, now time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[node]
	if !ok {
		return now
	}
	return time.Duration(server)*time.Microsecond - r.offset
}

// Observe records a script's answer: its node's clock showed server, at some time between sent and
// received.
func (c *Clocks) Observe(node string, sent, received time.Duration, server int64) {
	if server <= 0 {
		return
	}
	slack := (received - sent) / 2
	fresh := reading{
		offset: time.Duration(server)*time.Microsecond - (sent + slack),
		slack:  slack,
		at:     received,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.nodes[node]
	stepped := (fresh.offset - old.offset).Abs() > fresh.slack+old.slack
	if ok && !stepped && old.slack < fresh.slack && received-old.at < fade {
		return
	}
	if c.nodes == nil {
		c.nodes = make(map[string]reading)
	}
	c.nodes[node] = fresh
}
