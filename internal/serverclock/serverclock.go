// Package serverclock estimates the clocks of servers from their answers, and sends requests that have no effect after
// a time of such a clock. It is for stores whose requests can look at a clock as they are carried out.
package serverclock

import (
	"sync"
	"time"
)

// Clocks estimates each node's clock from the times that its answers tell. A request carries a
// not-after by that clock, and a node that receives it later refuses it. So an estimate need not be
// precise, only based on the past: one that is behind costs a refusal, which carries the right time;
// one that is ahead widens the window in which an abandoned request may still be carried out.
//
// An example: a request was sent at 100 ms by our clock, and its answer, received at 104 ms, says 5,000 ms. The
// node read its clock at some time in between, so it was ahead of ours by 4,896 to 4,900 ms: the offset is
// 4,898 ms, and the slack 2 ms. A request that is sent at 200 ms with a limit of 50 ms gets the not-after 5,148
// ms. The node is surely past it at 253 ms by our clock, and not yet surely at 251 ms.
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

// NotAfter is the node's time, in µs, that lies limit ahead of now. It is 0 if nothing is known of the
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

// Left is how long it takes at most until the node's clock is past a time of its own, however far off the estimate may
// be; 0: it is past that.
//
// It takes the least that the node's clock can show, which the slack allows. It is used to conclude that a request can
// no longer be carried out, so it must not end too early; too late costs another look. Of a node of which nothing is
// known, because it has just taken over, the longest limit of a command is said.
func (c *Clocks) Left(node string, now time.Duration, notAfter int64) time.Duration {
	if notAfter == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[node]
	if !ok {
		return unknown
	}
	return max(time.Duration(notAfter+1)*time.Microsecond-(now+r.offset-r.slack), 0)
}

// unknown is what is left of a request to a node of which nothing is known: no command has a longer limit.
const unknown = 3 * time.Second

// Latest is the latest time that the node's clock may show now, in µs, however far off the estimate may be. Of a node
// of which nothing is known, because it has just taken over, it is the latest of all.
func (c *Clocks) Latest(node string, now time.Duration) (latest int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.nodes[node]; ok {
		return (now + r.offset + r.slack).Microseconds()
	}
	for _, r := range c.nodes {
		latest = max(latest, (now + r.offset + r.slack).Microseconds())
	}
	return latest
}

// Observe records a script's answer: its node's clock showed server, at some time between sent and
// received.
//
// Answers of one node may come in any order, on several connections. A reading is kept against a newer and less
// precise one for a while only, since clocks drift apart. If the two cannot both be true, because their ranges
// do not overlap, somebody set the server's clock, and the newer one counts.
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
